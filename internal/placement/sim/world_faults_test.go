// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// worldFaults counts the faults in force that concern all machines.
type worldFaults struct {
	lossy, double, slow, failing, recovering int
	calm                                     bool // all have ended
	closed                                   bool // no process starts any more
}

// performStep does a step of the plan, and undoes it when its time is over.
func (w *world) performStep(s step) {
	m := w.machines[s.who]
	if s.do == actCall {
		w.callFrom(m, w.keys[s.key])
		return
	}
	w.tracef("--- %v", s)
	undo := w.beginFault(s, m)
	if undo == nil {
		return
	}
	w.After(s.lasts, func() {
		if !w.calm {
			undo()
		}
	})
}

// callFrom has the process of a machine call a key, if there is one.
func (w *world) callFrom(m *machine, key placement.Key) {
	if p := m.process; p != nil && p.driver != nil {
		p.runNow(func() { p.newCall(key, patience, func(placement.Holder, error) {}) })
	}
}

// beginFault begins a fault and returns what ends it.
func (w *world) beginFault(s step, m *machine) (undo func()) {
	n := &w.oracle.counts
	switch s.do {
	case actLossy:
		return w.countFault(&w.lossy)
	case actDouble:
		return w.countFault(&w.double)
	case actSlow:
		return w.countFault(&w.slow)
	case actFail:
		return w.countFault(&w.failing)
	case actCut:
		n.Cuts++
		m.cutFrom(w.machines[s.other], 1)
		return func() { m.cutFrom(w.machines[s.other], -1) }
	case actIsolate:
		n.Isolations++
		return w.countFault(&m.isolated)
	case actPause:
		n.Pauses++
		m.pause()
		return m.resume
	case actCrash:
		return w.crashMachine(m)
	case actRecover:
		return w.recoverStore(s)
	}
	w.beginMember(s, m)
	return nil
}

// beginMember performs a step that is not undone.
func (w *world) beginMember(s step, m *machine) {
	p := m.process
	n := &w.oracle.counts
	switch s.do {
	case actSetClock:
		n.ClockJumps++
		m.setClock(s.by)
	case actDeploy, actLeave:
		n.Deployments++
		if p != nil {
			p.runNow(p.drainAndStop)
		}
	case actChange:
		w.registry.label(m.name, "zone", string(rune('a'+s.other)))
	case actEvict:
		w.registry.remove(m.name)
	}
}

// countFault begins a fault that is counted in a field.
func (w *world) countFault(field *int) (undo func()) {
	*field++
	return func() { *field-- }
}

func (w *world) crashMachine(m *machine) (undo func()) {
	m.down++
	m.crash()
	return func() {
		m.down--
		m.start()
	}
}

// recoverStore has the store be away for a while. Its versions, and all clocks that go by
// them, are 100 seconds later then, as after a recovery of FoundationDB.
func (w *world) recoverStore(step) (undo func()) {
	w.oracle.counts.Recoveries++
	w.recovering++
	return func() {
		w.recovering--
		if w.recovering == 0 {
			w.store.jumped += 100 * time.Second
		}
	}
}

// endFaults ends all faults.
func (w *world) endFaults() {
	w.tracef("--- all faults end")
	w.worldFaults = worldFaults{calm: true}
	for _, m := range w.machines {
		m.isolated, m.down = 0, 0
		clear(m.cut)
		if m.paused > 0 {
			m.paused = 1
			m.resume()
		}
		m.start()
	}
}

// plan is all that is done to a world from outside, in the order of time.
type plan []step

// step is one thing that is done.
type step struct {
	at    time.Duration
	do    action
	who   int           // machine
	other int           // machine
	key   int           // of a call
	lasts time.Duration // until it is undone
	by    time.Duration // that a clock is set forwards
}

type action string

const (
	actCall     action = "call"
	actCrash    action = "crash"
	actPause    action = "pause"
	actCut      action = "cut off from a machine"
	actIsolate  action = "cut off from the store"
	actLossy    action = "lose replies"
	actDouble   action = "double"
	actSlow     action = "delay"
	actSetClock action = "set the clock"
	actRecover  action = "the store recovers"
	actDeploy   action = "deploy"
	actLeave    action = "leave"
	actChange   action = "change labels"
	actFail     action = "executors fail"
	actEvict    action = "evict"
)

// Durations of a run.
const (
	trouble = 30 * time.Second // before the faults end
	nemesis = 600 * time.Millisecond
)

// weights says how often the faults occur.
var weights = []struct {
	do     action
	weight int
}{
	{actCrash, 4},
	{actPause, 8},
	{actCut, 4},
	{actIsolate, 4},
	{actLossy, 5},
	{actDouble, 4},
	{actSlow, 4},
	{actSetClock, 4},
	{actRecover, 2},
	{actDeploy, 4},
	{actLeave, 3},
	{actChange, 3},
	{actFail, 2},
	{actEvict, 2},
}

// newPlan returns the plan of a seed.
func newPlan(seed uint64, machines, keys, calls int) plan {
	d := newDice(seed, aboutPlan)
	var p plan
	for range calls {
		p = append(p, step{at: d.between(0, trouble), do: actCall, who: d.IntN(machines), key: min(d.IntN(keys), d.IntN(keys))})
	}
	for at := d.between(time.Second, 3*time.Second); at < trouble; at += d.between(0, 2*nemesis) {
		p = append(p, fault(d, at, machines))
	}
	slices.SortStableFunc(p, func(a, b step) int { return int(a.at - b.at) })
	return p
}

func fault(d dice, at time.Duration, machines int) step {
	s := step{at: at, do: pick(d), who: d.IntN(machines), lasts: d.between(0, 2*time.Second)}
	s.other = (s.who + 1 + d.IntN(max(machines-1, 1))) % machines
	if d.chance(0.3) { // longer than leases and requests last
		s.lasts = d.between(0, 10*time.Second)
	}
	s.by = d.between(-10*time.Second, 10*time.Second)
	return s
}

func pick(d dice) action {
	sum := 0
	for _, w := range weights {
		sum += w.weight
	}
	n := d.IntN(sum)
	for _, w := range weights {
		if n -= w.weight; n < 0 {
			return w.do
		}
	}
	panic("unreachable: n is below the sum")
}

// String says what the step does, for traces.
func (s step) String() string {
	switch s.do {
	case actCall:
		return fmt.Sprintf("machine %d calls key %d", s.who, s.key)
	case actCut:
		return fmt.Sprintf("machine %d: %s, %d, for %v", s.who, s.do, s.other, s.lasts)
	case actSetClock:
		return fmt.Sprintf("machine %d: %s by %v", s.who, s.do, s.by)
	}
	return fmt.Sprintf("machine %d: %s for %v", s.who, s.do, s.lasts)
}
