// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// actor is one activation of a key. It keeps the value of its register in memory, as an
// actor does, and writes one more for each call.
type actor struct {
	process *process
	key     placement.Key
	epoch   int64

	value    int  // of the register, as the actor believes
	unsure   bool // the outcome of its latest write is unknown
	busy     bool // it handles a call
	waiting  []*attempt
	used     time.Time // by the process's clock, when its latest call ended
	draining bool      // it ends after the present call
	ended    bool
	serving  bool // a resolve was answered with it
}

// String names the actor in traces.
func (a *actor) String() string { return fmt.Sprintf("%v of %v, epoch %d,", a.key, a.process, a.epoch) }

func (a *actor) activationRecord() placement.ActivationRecord {
	return placement.ActivationRecord{PID: a.process.String(), Version: uint64(a.epoch)}
}

func (a *actor) inUse() bool { return a.busy || len(a.waiting) > 0 }

// endActor ends the actor. Writes that it has sent to the store still arrive; waiting calls
// are answered with errEnded.
func (a *actor) endActor() {
	a.ended = true
	if a.process.actors[a.key] == a {
		delete(a.process.actors, a.key)
	}
	a.process.world.oracle.noteEnded(a)
	a.refuseWaiting()
}

func (a *actor) refuseWaiting() {
	waiting := a.waiting
	a.waiting = nil
	for _, t := range waiting {
		t.sendReply(a.process, placement.Holder{}, errEnded)
	}
}

var errEnded = errors.New("sim: the activation has ended; retry")

// readRegister reads the register, under the fence.
func (a *actor) readRegister() error {
	value, err := a.process.world.readRegister(a)
	if err == nil {
		a.value, a.unsure = value, false
	}
	return err
}

// handleCall has the actor handle a call once those before it are done.
func (a *actor) handleCall(t *attempt) {
	if a.busy {
		a.waiting = append(a.waiting, t)
		return
	}
	a.busy = true
	d := a.process.dice(aboutActor)
	works := d.between(0, 20*time.Millisecond)
	if d.chance(0.1) && !a.process.world.calm {
		works = d.between(0, 3*time.Second)
	}
	a.process.after(works, func() { a.sendWrite(t, d) })
}

// sendWrite sends the effect of the call to the store. An actor that was lost does so, too:
// a process that was paused wakes here.
func (a *actor) sendWrite(t *attempt, d dice) {
	w := a.process.world
	if a.ended {
		a.finishCall(t, errEnded)
		return
	}
	e := effect{actor: a, base: a.value, attempt: t, reread: a.unsure}
	e.permitted = w.mutation == NoFence || w.mutation == CheckThenWrite && w.updateRegister(a, false, func(found int) int { return found }) == nil
	w.After(w.latency(d), func() {
		err := e.apply(d)
		delay := w.latency(d)
		if errors.Is(err, errUnknown) {
			delay = giveUp
		}
		a.process.after(delay, func() { a.handleWritten(e, err) })
	})
}

// handleWritten handles the outcome of the effect.
func (a *actor) handleWritten(e effect, err error) {
	switch {
	case err == nil:
		a.value, a.unsure = e.base+1, false
	case errors.Is(err, placement.ErrActivationLost):
		if !a.ended {
			a.process.driver.LoseActivation(a.key, a.epoch)
		}
	default:
		a.unsure = true
	}
	a.finishCall(e.attempt, err)
}

// finishCall answers the call and goes on with the next.
func (a *actor) finishCall(t *attempt, err error) {
	a.busy = false
	a.used = a.process.machine.clock.wall()
	if !a.ended {
		a.process.driver.Use(a.key, a.epoch)
	}
	t.sendReply(a.process, placement.Holder{Owner: a.process.owner, Address: a.process.machine.name, Epoch: a.epoch}, err)
	switch {
	case a.draining || a.ended:
		a.refuseWaiting()
	case !a.inUse() && !a.process.world.calm && a.process.dice(aboutActor).chance(0.03):
		a.process.driver.Passivate(a.key, a.epoch) // it asks for its end
	case len(a.waiting) > 0:
		next := a.waiting[0]
		a.waiting = a.waiting[1:]
		a.handleCall(next)
	}
}
