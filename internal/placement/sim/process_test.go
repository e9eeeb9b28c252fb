// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/placement"
)

// process is one run of a program on a machine: one incarnation of a member, or a
// client.
type process struct {
	machine *machine
	world   *world
	run     int
	owner   placement.Owner // zero until it has joined
	driver  *driver.Driver  // nil until then
	actors  map[placement.Key]*actor
	sent    uint64 // commands, requests and messages, to tell them apart
	gone    bool   // it has crashed or exited
	leaving bool   // it stops
	log     *log

	renewed  time.Duration // by its monotonic clock, when the latest successful renewal began
	version  int64         // of the newest topology that it was given
	versions int64         // with RenumberTopologies: how many it was given
	observed map[string]observation
}

func newProcess(m *machine) *process {
	p := &process{
		machine: m, world: m.world, run: m.runs,
		actors: map[placement.Key]*actor{}, observed: map[string]observation{},
	}
	p.log = newLog(p)
	return p
}

// String returns the machine and the run, for traces.
func (p *process) String() string { return fmt.Sprintf("%s.%d", p.machine.name, p.run) }

// startUp has the process join, or be a client.
func (p *process) startUp() {
	if p.machine.client {
		p.owner = placement.Owner{Name: p.machine.name, Incarnation: int64(p.run)}
		p.startServing()
		return
	}
	p.joinRegistry()
}

// startServing makes the coordinator and its driver, once the incarnation is known.
func (p *process) startServing() {
	if err := p.openDriver(); err != nil {
		p.world.fail(Broken, "%v: %v", p, err)
		return
	}
	p.renewed = p.machine.clock.monotonic()
	p.every(tick, p.tickDriver)
	p.every(renewal, p.renewLease)
	p.every(renewal, p.watchMembers)
	p.watchMembers()
}

func (p *process) openDriver() error {
	coordinator, err := core.NewCoordinator(p.world.coordinatorOptions(p))
	if err != nil {
		return err
	}
	homes := p.world.homesOf(p)
	if p.driver, err = driver.New(coordinator, homes, p.world.driverOptions(p)); err != nil {
		return err
	}
	if p.machine.client {
		return p.driver.StartClient()
	}
	return p.driver.StartMember(p.machine.kinds)
}

// tickDriver is what Driver.Run does. A process also gives up its membership when it has not
// renewed it for as long as it lasts.
func (p *process) tickDriver() {
	p.driver.Tick(p.machine.clock.wall())
	if !p.machine.client && p.machine.clock.monotonic()-p.renewed > memberLease {
		p.loseMembership("it could not renew")
	}
}

// leaveInOrder ends the process in an orderly way.
func (p *process) leaveInOrder() {
	p.world.oracle.checkExit(p)
	p.exit()
}

// exit ends the process.
func (p *process) exit() {
	p.gone = true
	p.machine.process = nil
	for _, a := range p.actors {
		p.world.oracle.noteEnded(a)
	}
	p.machine.restart()
}

// after runs do in the process after a time: not if the process has ended by then, and
// later if it is paused.
func (p *process) after(d time.Duration, do func()) {
	p.world.After(d, func() { p.runNow(do) })
}

func (p *process) runNow(do func()) {
	switch {
	case p.gone:
	case p.machine.paused > 0:
		p.machine.held = append(p.machine.held, func() { p.runNow(do) })
	default:
		do()
	}
}

// every runs do once in each interval of the process's clock. Ticks that come due during a
// pause become one.
func (p *process) every(d time.Duration, do func()) {
	p.after(p.machine.clock.trueDuration(d), func() {
		do()
		p.every(d, do)
	})
}

// dice returns the dice for the next thing that the process sends.
func (p *process) dice(about subject) dice {
	p.sent++
	return p.world.dice(about, uint64(p.machine.index), uint64(p.run), p.sent)
}

// resolveKey resolves a key in the process, and checks that there is one answer, in time.
func (p *process) resolveKey(key placement.Key, done func(core.Resolution, error)) {
	o := &p.world.oracle
	o.counts.Resolves++
	o.open[p]++
	answered, since, sets := false, p.machine.awakeTime(), p.machine.sets
	p.driver.ResolveAsync(key, func(r core.Resolution, err error) {
		if o.world.mutation == LoseAnswers && o.counts.Resolves%100 == 0 {
			return
		}
		if answered {
			p.world.fail(AnsweredTwice, "%v in %v", key, p)
			return
		}
		answered = true
		o.open[p]--
		o.checkInTime(p, key, p.machine.awakeTime()-since, p.machine.sets-sets)
		if o.checkAnswer(p, key, r, err) {
			done(r, err)
		}
	})
}

// newCall calls a key.
func (p *process) newCall(key placement.Key, patience time.Duration, done func(placement.Holder, error)) {
	now := p.world.Now()
	c := &call{origin: p, key: key, since: now, by: now + patience, done: done}
	p.world.oracle.counts.Calls++
	c.startAttempt()
}

// sendTo sends a message that runs do in the process on a machine. If no process runs there
// or the link is cut, absent is called after a while; it can be nil. A lost message calls
// neither.
func (p *process) sendTo(to *machine, do func(*process), absent func()) {
	w, d := p.world, p.dice(aboutMessage)
	arrive := func() {
		if q := to.process; q != nil && q.driver != nil && p.machine.cut[to.index] == 0 {
			q.runNow(func() { do(q) })
		} else if absent != nil {
			p.after(w.latency(d), absent)
		}
	}
	if w.losesReply(d) {
		w.oracle.counts.LostMessages++
		return
	}
	w.After(w.latency(d), arrive)
	if w.double > 0 && d.chance(0.3) {
		w.oracle.counts.Doubled++
		w.After(w.latency(d), arrive)
	}
}

// ask runs do in the store, and then done in the process. With an error the outcome is
// unknown. A request that was sent is executed even if the process is paused or ends.
func ask[T any](p *process, what string, do func() T, done func(T, error)) {
	w, d := p.world, p.dice(aboutMember)
	w.After(w.latency(d), func() {
		var answer T
		if !w.reachesStore(p.machine) {
			w.tracef("%v does not reach the store: %s", p, what)
			p.after(giveUp, func() { done(answer, errUnknown) })
			return
		}
		answer = do()
		if w.losesReply(d) {
			w.oracle.counts.LostReplies++
			w.tracef("%v: the reply is lost: %s", p, what)
			p.after(giveUp, func() { done(answer, errUnknown) })
			return
		}
		p.after(w.latency(d), func() { done(answer, nil) })
	})
}
