// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// TestVacancyComesTooLate tells of a vacancy when what was set in it since has
// left the window.
func TestVacancyComesTooLate(t *testing.T) {
	db := laneOf(t, 100, true)
	clearLane(t, db, 0, 99)
	late := vacancy{kv.KeyRange{Begin: laneKey(0), End: laneKey(99)}, db.head.newest().version}
	transact(t, db, func(tx kv.Transaction) { tx.Set(laneKey(50), []byte("value")) })
	toTheBase(t, db)
	db.committer.reports.add(late)
	if key, _ := effort(t, db, false); key != string(laneKey(50)) {
		t.Errorf("the first key is %q, want %q", key, laneKey(50))
	}
}

// TestVacancyIsClipped tells of a vacancy while a key was set in it that is
// still in the window.
func TestVacancyIsClipped(t *testing.T) {
	db := laneOf(t, 100, true)
	clearLane(t, db, 0, 99)
	told := vacancy{kv.KeyRange{Begin: laneKey(0), End: laneKey(99)}, db.head.newest().version}
	transact(t, db, func(tx kv.Transaction) { tx.Set(laneKey(50), []byte("value")) })
	db.committer.reports.add(told)
	if key, passed := effort(t, db, false); key != string(laneKey(50)) || passed > leapEvery {
		t.Errorf("the first key is %q, past %d others, want %q", key, passed, laneKey(50))
	}
}

// TestVacancyEndsWhereTheBaseWasAsked goes past a run within bounds and comes to
// a key of the window that lies outside, with keys of the base in between.
func TestVacancyEndsWhereTheBaseWasAsked(t *testing.T) {
	shortRuns(t)
	db := laneOf(t, 100, true)
	transact(t, db, func(tx kv.Transaction) {
		tx.Set(laneKey(10), []byte("new"))
		tx.Set(laneKey(90), []byte("new"))
	})
	clearLane(t, db, 40, 60)
	for _, below := range []bool{false, true} {
		s := db.head.newest().newScan()
		s.begin, s.end = keys.Successor(laneKey(39)), append(laneKey(59), '?')
		if below {
			s.seekBelow(s.end)
		} else {
			s.seek(s.begin)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	if db.head.newest().vacant.IsEmpty() {
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

// TestVacancyPublishesNoCommit tells of a vacancy while a commit is decided that
// is not on the disk yet.
func TestVacancyPublishesNoCommit(t *testing.T) {
	db := laneOf(t, 100, true)
	clearLane(t, db, 0, 99)
	tx := begin(t, db)
	tx.Set(laneKey(50), []byte("value"))
	done := tx.CommitAsync()
	db.committer.decideQueued()
	db.committer.reports.add(vacancy{kv.KeyRange{Begin: laneKey(0), End: laneKey(99)}, db.head.now.Load().version})
	v := db.head.now.Load()
	if _, err := done.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	version, err := tx.GetCommittedVersion()
	if err != nil {
		t.Fatal(err)
	}
	if value, err := v.get(laneKey(50)); err != nil || value != nil && v.version < version {
		t.Errorf("the view at %d has %q, which was committed at %d (%v)", v.version, value, version, err)
	}
	if key, _ := effort(t, db, false); key != string(laneKey(50)) {
		t.Errorf("after the commit the first key is %q, want %q", key, laneKey(50))
	}
}
