// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// faults are those in force that concern all machines: how often each was begun and not ended.
type faults struct {
	lossy, double, slow, failing, recovering int
	calm                                     bool // all have ended
	closed                                   bool // no process starts any more
}

// perform does a step of the plan, and undoes it when its time is over.
func (w *world) perform(s step) {
	m := w.machines[s.who]
	if s.do == actCall {
		w.call(m, w.keys[s.key])
		return
	}
	w.tracef("--- %v", s)
	undo := w.begin(s, m)
	if undo == nil {
		return
	}
	w.after(s.lasts, func() {
		if !w.calm {
			undo()
		}
	})
}

// call has the process of a machine call a key, if there is one.
func (w *world) call(m *machine, key placement.Key) {
	if p := m.process; p != nil && p.driver != nil {
		p.happen(func() { p.newCall(key, patience, func(placement.Holder, error) {}) })
	}
}

// begin begins a fault and returns what ends it.
func (w *world) begin(s step, m *machine) (undo func()) {
	n := &w.oracle.counts
	switch s.do {
	case actLossy:
		return w.count(&w.lossy)
	case actDouble:
		return w.count(&w.double)
	case actSlow:
		return w.count(&w.slow)
	case actFail:
		return w.count(&w.failing)
	case actCut:
		n.Cuts++
		m.cutFrom(w.machines[s.other], 1)
		return func() { m.cutFrom(w.machines[s.other], -1) }
	case actIsolate:
		n.Isolations++
		return w.count(&m.isolated)
	case actPause:
		n.Pauses++
		m.pause()
		return m.resume
	case actCrash:
		return w.crash(m)
	case actRecover:
		return w.recover(s)
	}
	w.beginMember(s, m)
	return nil
}

// beginMember does a step that is not undone.
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
			p.happen(p.stop)
		}
	case actChange:
		w.registry.label(m.name, "zone", string(rune('a'+s.other)))
	case actEvict:
		w.registry.remove(m.name)
	}
}

// count begins a fault that is counted in a field.
func (w *world) count(field *int) (undo func()) {
	*field++
	return func() { *field-- }
}

func (w *world) crash(m *machine) (undo func()) {
	m.down++
	m.crash()
	return func() {
		m.down--
		m.start()
	}
}

// recover has the store be away for a while. Its versions, and all clocks that go by
// them, are 100 seconds later then, as after a recovery of FoundationDB.
func (w *world) recover(step) (undo func()) {
	w.oracle.counts.Recoveries++
	w.recovering++
	return func() {
		w.recovering--
		if w.recovering == 0 {
			w.store.jumped += 100 * time.Second
		}
	}
}

// heal ends all faults.
func (w *world) heal() {
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
