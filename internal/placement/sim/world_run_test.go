// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// Run runs a seed: 30 seconds of calls and faults, then none, then a clean stop. Its
// error is a [*Violation].
func Run(seed uint64, o Options) (Result, error) {
	w, err := newWorld(seed, o)
	if err != nil {
		return Result{}, err
	}
	for i, s := range newPlan(seed, len(w.machines), len(w.keys), w.setting.calls) {
		if !o.cut[i] {
			w.After(s.at, func() { w.performStep(s) })
		}
	}
	w.runUntil(trouble, nil)
	w.endFaults()
	w.serveAll()
	w.checkAgreement()
	w.stopAll()
	return w.result(), w.err()
}

// AsViolation returns the violation in an error of [Run], nil if there is none.
func AsViolation(err error) *Violation {
	var v *Violation
	errors.As(err, &v)
	return v
}

// Durations of a run.
const (
	// Bound is the time within which each member reaches each key once all faults
	// have ended: a dead predecessor's lease is observed twice, as a member that is evicted at
	// the end has to join again, and locks and requests that are under way lapse.
	Bound = 4*memberLease + lockTTL + 2*requestTimeout + 2*giveUp

	requestTimeout = 2 * time.Second
	patience       = 6 * time.Second // of a caller
	goodbye        = 5 * time.Second // that a member waits for its driver when it stops
)

// serveAll checks that after the faults each process reaches each key within the
// bound.
func (w *world) serveAll() {
	end := w.Now()
	open := 0
	for _, m := range w.machines {
		for _, k := range w.keys {
			open++
			w.callUntil(m, k, end+Bound, func() { open-- })
		}
	}
	if !w.runUntil(end+Bound, func() bool { return open == 0 }) && w.failure == nil {
		w.fail(NotServed, "%d calls have not been handled %v after the faults", open, Bound)
	}
	w.oracle.counts.Settled = w.Now() - end
	w.runUntil(end+2*Bound, w.isSettled)
}

// callUntil calls a key from a machine until it was handled, with whatever process
// runs there.
func (w *world) callUntil(m *machine, key placement.Key, by time.Duration, done func()) {
	again := func() { w.After(100*time.Millisecond, func() { w.callUntil(m, key, by, done) }) }
	p := m.process
	if p == nil || p.driver == nil || p.leaving {
		again()
		return
	}
	called, over := p, false
	p.newCall(key, by-w.Now(), func(_ placement.Holder, err error) {
		over = true
		if err == nil {
			done()
		} else {
			again()
		}
	})
	w.repeatIfGone(called, &over, again)
}

// repeatIfGone repeats a call if the calling process ends during it.
func (w *world) repeatIfGone(p *process, over *bool, again func()) {
	switch {
	case *over:
	case p.gone:
		*over = true
		again()
	default:
		w.After(time.Second, func() { w.repeatIfGone(p, over, again) })
	}
}

// isSettled reports whether the members have not changed for as long as a
// membership lasts, and all processes have the newest topology, which lists all
// members that run.
func (w *world) isSettled() bool {
	if w.Now()-w.registry.bumped < 2*memberLease {
		return false
	}
	for _, m := range w.machines {
		p := m.process
		if p == nil || p.driver == nil || p.leaving || p.version != w.registry.version || !p.machine.client && !w.registry.isAlive(p.owner) {
			return false
		}
	}
	return len(w.registry.members) == w.setting.machines
}

// checkAgreement checks, twice, that each process reaches each key at once. Then, with all
// moves made and all stale locations corrected, all reach the same activation.
func (w *world) checkAgreement() {
	if w.failure == nil && !w.isSettled() {
		w.fail(NotServed, "the members have not settled %v after the faults", 2*Bound)
	}
	for range 2 {
		w.callRound()
	}
	for _, k := range w.keys {
		w.checkOnePlace(k)
	}
}

// callRound has each process call each key, one after the other. Each call is
// handled within a request's time.
func (w *world) callRound() {
	w.agreed = map[placement.Key]map[placement.Holder]bool{}
	for _, k := range w.keys {
		w.agreed[k] = map[placement.Holder]bool{}
		for _, m := range w.machines {
			w.roundCall(m, k)
		}
	}
}

func (w *world) roundCall(m *machine, k placement.Key) {
	if w.failure != nil {
		return
	}
	handled := false
	if m.process == nil {
		w.fail(Broken, "%s has no process after all have settled", m.name)
		return
	}
	m.process.newCall(k, requestTimeout, func(h placement.Holder, err error) {
		if err != nil {
			w.fail(NotServed, "%v from %v, after all has settled: %v", k, m.process, err)
			return
		}
		w.agreed[k][h] = true
		handled = true
	})
	if !handled && !w.runUntil(w.Now()+2*requestTimeout, func() bool { return handled }) && w.failure == nil {
		w.fail(NotServed, "%v from %s, %v after all has settled", k, m.name, requestTimeout)
	}
}

// checkOnePlace checks that all processes reached one activation, or, if activations end for
// idleness, one member.
func (w *world) checkOnePlace(k placement.Key) {
	owners := map[placement.Owner]bool{}
	for h := range w.agreed[k] {
		owners[h.Owner] = true
	}
	if w.failure == nil && (len(owners) != 1 || w.setting.idle == 0 && len(w.agreed[k]) != 1) {
		w.fail(Disagreement, "%v is at %v", k, w.agreed[k])
	}
}

// stopAll has all members leave cleanly, and checks that nothing is left.
func (w *world) stopAll() {
	w.closed = true
	for _, m := range w.machines {
		if m.process != nil && w.failure == nil {
			m.process.drainAndStop()
			if w.dice(aboutMachine, uint64(m.index), 2).chance(0.5) {
				w.runUntil(w.Now()+time.Second, nil)
			}
		}
	}
	w.runUntil(w.Now()+2*goodbye, nil)
	if w.failure == nil {
		w.checkNothingLeft()
	}
}

func (w *world) checkNothingLeft() {
	for _, k := range w.keys {
		h, held := w.store.home.Holder(k)
		if held && w.oracle.known[k] == h.Epoch && w.oracle.clean[h.Owner] {
			w.fail(LeftBehind, "%v has %v under epoch %d", h.Owner, k, h.Epoch)
		}
		if e, err := w.store.home.Load(context.Background(), k); e != nil || err != nil {
			w.fail(LeftBehind, "there is the entry %+v of %v, error %v", e, k, err)
		}
	}
	for _, m := range w.machines {
		if m.process != nil {
			w.fail(Stuck, "%v has not stopped", m.process)
		}
	}
}

func (w *world) result() Result {
	w.oracle.counts.Evictions = w.registry.evicted
	w.oracle.counts.Trace = w.oracle.trace
	return w.oracle.counts
}

func (w *world) err() error {
	if w.failure == nil {
		return nil
	}
	return w.failure
}

// runUntil runs events until a time, until done returns true or a violation is found. It
// reports whether done returned true.
func (w *world) runUntil(until time.Duration, done func() bool) bool {
	for w.failure == nil && w.Next(until) {
		if done != nil && done() {
			return w.failure == nil
		}
	}
	return false
}

func (w *world) executeWith(work func(context.Context) core.CommandResult, f *fate) core.CommandResult {
	w.fate = f
	result := work(context.Background())
	w.fate = nil
	return result
}

// Result is what a run has seen.
type Result struct {
	Resolves, Calls, Handled           int // Handled calls were answered with an effect
	Commands, Expired                  int
	Grants, Activations                int
	Effects, Fenced                    int // writes that were applied, and that a fence refused
	Crashes, Pauses, Cuts, Isolations  int
	LostReplies, LostMessages, Doubled int
	ClockJumps, Recoveries             int
	Deployments, Joins, Leaves         int
	Evictions, Lost                    int // members that were evicted, and that noticed that they may be
	ExecutorFailures                   int
	Moves, Passivations, GivenBack     int
	TimedOut, Topologies, Events       int

	Settled        time.Duration // after the faults' end, until each member had reached each key
	LongestResolve time.Duration
	Trace          uint64 // of all effects and answers: equal runs have equal ones
}

// Add adds the counts of another run, and takes the longer times.
func (r *Result) Add(s Result) {
	sums, others := r.counters(), s.counters()
	for i := range sums {
		*sums[i] += *others[i]
	}
	r.Settled, r.LongestResolve = max(r.Settled, s.Settled), max(r.LongestResolve, s.LongestResolve)
	r.Trace ^= s.Trace
}

func (r *Result) counters() []*int {
	return []*int{
		&r.Resolves, &r.Calls, &r.Handled, &r.Commands, &r.Expired, &r.Grants, &r.Activations, &r.Effects, &r.Fenced,
		&r.Crashes, &r.Pauses, &r.Cuts, &r.Isolations, &r.LostReplies, &r.LostMessages, &r.Doubled,
		&r.ClockJumps, &r.Recoveries, &r.Deployments, &r.Joins, &r.Leaves, &r.Evictions, &r.Lost,
		&r.ExecutorFailures, &r.Moves, &r.Passivations, &r.GivenBack, &r.TimedOut, &r.Topologies, &r.Events,
	}
}
