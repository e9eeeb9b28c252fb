// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
)

// TestVacancyComesTooLate tells of a vacancy when what was set in it since has
// left the window.
func TestVacancyComesTooLate(t *testing.T) {
	db := laneOf(t, 100, true)
	clearLane(t, db, 0, 99)
	late := db.head.Newest()
	transact(t, db, func(tx kv.Transaction) { tx.Set(laneKey(50), []byte("value")) })
	toTheBase(t, db)
	late.ReportVacancy(kv.KeyRange{Begin: laneKey(0), End: laneKey(99)}, late.Version())
	if key, _ := effort(t, db, false); key != string(laneKey(50)) {
		t.Errorf("the first key is %q, want %q", key, laneKey(50))
	}
}

// TestVacancyIsClipped tells of a vacancy while a key was set in it that is
// still in the window.
func TestVacancyIsClipped(t *testing.T) {
	db := laneOf(t, 100, true)
	clearLane(t, db, 0, 99)
	before := db.head.Newest()
	transact(t, db, func(tx kv.Transaction) { tx.Set(laneKey(50), []byte("value")) })
	before.ReportVacancy(kv.KeyRange{Begin: laneKey(0), End: laneKey(99)}, before.Version())
	if key, passed := effort(t, db, false); key != string(laneKey(50)) || passed > mvcc.LeapEvery {
		t.Errorf("the first key is %q, past %d others, want %q", key, passed, laneKey(50))
	}
}

// TestVacancyEndsWhereTheBaseWasAsked goes past a run within bounds and comes to
// a key of the window that lies outside, with keys of the base in between.
func TestVacancyEndsWhereTheBaseWasAsked(t *testing.T) {
	db := laneWith(t, shortRuns(tiny(vfs.NewMem())), 100, true)
	transact(t, db, func(tx kv.Transaction) {
		tx.Set(laneKey(10), []byte("new"))
		tx.Set(laneKey(90), []byte("new"))
	})
	clearLane(t, db, 40, 60)
	for _, below := range []bool{false, true} {
		s := db.head.Newest().NewScan(nil)
		begin, end := keys.Successor(laneKey(39)), append(laneKey(59), '?')
		s.SetBounds(begin, end)
		if below {
			s.SeekBelow(end)
		} else {
			s.Seek(begin)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if vacancies(db).IsEmpty() {
		t.Fatal("no vacancy is remembered")
	}
	var want []string
	for i := range 100 {
		if i < 40 || i >= 60 {
			want = append(want, string(laneKey(i)))
		}
	}
	for i := range 100 {
		checkLeaps(t, db, want, laneKey(i), laneKey(100))
		checkLeaps(t, db, want, laneKey(0), laneKey(i))
	}
}
