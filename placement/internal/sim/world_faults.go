// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// faults counts the faults in force that concern all machines.
type faults struct {
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
	w.faults = faults{calm: true}
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
