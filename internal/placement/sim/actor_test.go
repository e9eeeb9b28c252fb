// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
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

func (a *actor) activationRecord() core.ActivationRecord {
	return core.ActivationRecord{PID: a.process.String(), Version: uint64(a.epoch)}
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

// sendWrite sends the effect of the call to the store. Even an actor that was lost does so:
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

// executor makes and ends the actors of one process: a driver.Executor.
type executor struct{ process *process }

var errExecutor = errors.New("sim: the executor fails")

// EnsureActivation implements driver.Executor. The actor reads its register under its
// fence, so that the register knows of the epoch from then on.
func (e executor) EnsureActivation(_ context.Context, c core.EnsureActivation) (core.ActivationRecord, error) {
	p, w := e.process, e.process.world
	if w.fate.refused || e.mustWait() {
		return core.ActivationRecord{}, errExecutor
	}
	if err := e.randomFault(); err != nil {
		return core.ActivationRecord{}, err
	}
	if a := p.actors[c.Key]; a != nil {
		if a.epoch == c.Epoch {
			return a.activationRecord(), nil
		}
		if err := e.replaceActor(a, c.Epoch); err != nil {
			return core.ActivationRecord{}, err
		}
	}
	a := &actor{process: p, key: c.Key, epoch: c.Epoch, used: p.machine.clock.wall()}
	if err := a.readRegister(); err != nil {
		w.tracef("%v does not become active: %v", a, err)
		return core.ActivationRecord{}, err
	}
	p.actors[c.Key] = a
	w.tracef("%v is active, with value %d", a, a.value)
	return a.activationRecord(), nil
}

// replaceActor ends the actor of an epoch before. It is one that came too late: an
// actor that is in use is deactivated first.
func (e executor) replaceActor(a *actor, epoch int64) error {
	if a.epoch > epoch {
		return fmt.Errorf("%w: epoch %d is active", placement.ErrStale, a.epoch)
	}
	if a.serving {
		e.process.world.fail(TwoActivations, "%v is in use and was not ended when epoch %d began in the same process", a, epoch)
	}
	a.endActor()
	return nil
}

// randomFault returns an error, or panics, now and then.
func (e executor) randomFault() error {
	w := e.process.world
	if w.failing == 0 || !w.fate.dice.chance(0.3) {
		return nil
	}
	w.oracle.counts.ExecutorFailures++
	if w.fate.dice.chance(0.3) {
		panic(errExecutor)
	}
	return errExecutor
}

// mustWait reports whether the process is paused: what it was told is done later.
func (e executor) mustWait() bool {
	f := e.process.world.fate
	f.again = e.process.machine.paused > 0 || e.process.gone
	return f.again
}

// cutOff ends an actor that takes too long to end.
func (e executor) cutOff(a *actor, epoch int64) error {
	if a != nil && a.epoch == epoch {
		e.process.world.tracef("%v takes too long to end, and is cut off", a)
		a.endActor()
	}
	return errExecutor
}

// Deactivate implements driver.Executor. It takes until the actor has done what it
// is doing, unless the activation is lost.
func (e executor) Deactivate(_ context.Context, c core.Deactivate) error {
	p, w := e.process, e.process.world
	a := p.actors[c.Key]
	switch {
	case w.fate.refused:
		return e.cutOff(a, c.Epoch)
	case e.mustWait():
		return errExecutor
	case a == nil || a.epoch != c.Epoch:
		return nil
	case c.Cause == placement.CauseIdle && a.inUse():
		return &driver.BusyError{UsedAt: p.machine.clock.wall()}
	case c.Cause == placement.CauseIdle && a.used.After(c.IdleSince):
		return &driver.BusyError{UsedAt: a.used}
	case c.Cause != placement.CauseLost && a.busy && w.mutation != DeactivateEarly:
		a.draining, w.fate.again = true, true
		return errExecutor
	}
	w.tracef("%v ends, cause %d", a, c.Cause)
	if w.mutation == DeactivateEarly && a.busy {
		return nil // it goes on, and nothing knows of it
	}
	a.endActor()
	return nil
}
