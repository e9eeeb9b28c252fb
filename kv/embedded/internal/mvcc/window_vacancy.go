// SPDX-License-Identifier: Apache-2.0

package mvcc

import (
	"bytes"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// OnReport sets what is called, by the goroutine that reads, after a read has
// reported a vacancy.
func (w *Window) OnReport(notify func()) { w.env.notify = notify }

// AddReportedVacancies adds the vacancies that reads have reported, and reports whether the
// window has other vacancies now.
func (w *Window) AddReportedVacancies() (changed bool) {
	for {
		select {
		case v := <-w.env.reports:
			changed = w.addVacancy(v) || changed
		default:
			return changed
		}
	}
}

// addVacancy adds the part of v that still has no values, and reports whether there
// is one. The window must have all writes since v's version; if it has forgotten
// some, addVacancy ignores v.
func (w *Window) addVacancy(v vacancy) bool {
	if v.version < w.forgotten {
		return false
	}
	var at btree.Cursor[entry]
	if at.Seek(&w.entries, v.keys.Begin) && at.NextLive(&w.entries) {
		v.keys.End = bytes.Clone(keys.Min(v.keys.End, at.Key()))
	}
	if bytes.Compare(v.keys.Begin, v.keys.End) >= 0 {
		return false
	}
	w.makeRoomForVacancy()
	w.vacant.Join(v.keys)
	return true
}

// makeRoomForVacancy evicts the oldest quarter of the vacancies once their number
// reaches the limit. It evicts many at once because it must look at all to find
// the oldest.
func (w *Window) makeRoomForVacancy() {
	if w.vacant.Len() >= MostVacancies {
		w.vacant.EvictOldest(MostVacancies / 4)
	}
}

// cutVacancies takes the key that a resolved mutation sets out of the vacancies.
func (w *Window) cutVacancies(m *mutation.Mutation) {
	if m.Op == mutation.OpClearRange || m.Value == nil {
		return
	}
	if _, in := w.vacant.Find(m.Key, false); in {
		w.makeRoomForVacancy()
		w.vacant.RemoveKey(bytes.Clone(m.Key)) // m.Key may be a part of a large slice
	}
}
