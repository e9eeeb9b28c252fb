// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// testSetSequence checks the comparison of versions.
func testSetSequence(f *fixture) {
	s := f.openStore()
	f.wantError(s.SetSequence(f.Context(), "a", 5, 1), store.ErrConflict)
	if _, err := s.Sequence(f.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("after a conflict: %v", err)
	}
	f.check(s.SetSequence(f.Context(), "a", math.MinInt64, 0))
	f.wantError(s.SetSequence(f.Context(), "a", 7, 0), store.ErrConflict)
	first, err := s.Sequence(f.Context(), "a")
	if err != nil || first.Value != math.MinInt64 || first.Version < 1 {
		f.Fatalf("got %+v, %v", first, err)
	}
	f.check(s.SetSequence(f.Context(), "a", 1<<53+1, first.Version))
	f.wantError(s.SetSequence(f.Context(), "a", 8, first.Version), store.ErrConflict)
	got := f.wantRange(s, "a", up(0, 2, 1), 1<<53+1, 1<<53+3)
	if got.Version <= first.Version+1 {
		f.Errorf("the version went from %d to %d in two changes", first.Version, got.Version)
	}
	f.wantError(s.SetSequence(f.Context(), "a", 9, got.Version-1), store.ErrConflict)
	f.check(s.SetSequence(f.Context(), "a", -9, got.Version)) // backwards, too
	f.wantRange(s, "a", up(0, -1, 1), -9, -10)
}

// testSetSequenceRace lets one of many callers win, among reservations.
func testSetSequenceRace(f *fixture) {
	stores := []store.Store{f.openStore(), f.openRaw()}
	for round := range 3 {
		old, err := stores[0].Sequence(f.Context(), "a")
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			f.Fatal(err)
		}
		var won atomic.Int64
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				err := stores[i%2].SetSequence(f.Context(), "a", int64(1000*round+i), old.Version)
				f.countWinner(&won, err)
			})
		}
		group.Wait()
		f.wantOneWinner(fmt.Sprint("round ", round), &won)
	}
}

// testDeleteSequence removes a sequence that others have used: it begins anew, and no other
// sequence changes.
func testDeleteSequence(f *fixture) {
	s, other := f.openStore(), f.openRaw()
	remove := func(s store.Store, name string, want bool) {
		f.Helper()
		found, err := s.DeleteSequence(f.Context(), name)
		if err != nil || found != want && !f.LosesAnswers {
			f.Errorf("delete %q: %v, %v, want %v", name, found, err, want)
		}
		if q, err := s.Sequence(f.Context(), name); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("after its removal: %+v, %v", q, err)
		}
	}
	again := up(0, 1, 10)
	again.Removable = true
	names := []string{"a", "a#0", "a#0:2026-11-22", "a#0:2026-11-2", "A#0:2026-11-22", "a#0:2026-11-22 "}
	for i, name := range names {
		f.wantRange(s, name, up(int64(100*i), 1, 5), int64(100*i), int64(100*i+5))
	}
	last := f.wantRange(other, names[2], again, 205, 215)
	remove(other, names[2], true)
	remove(other, names[2], false)
	remove(other, "never made", false)
	got, err := s.Reserve(f.Context(), names[2], again)
	if err == nil && got.From != 0 || err != nil && !errors.Is(err, store.ErrLost) {
		f.Errorf("after another store has removed it: %+v, %v", got, err)
	}
	remove(s, names[2], err == nil)
	f.wantError(other.SetSequence(f.Context(), names[2], 7, last.Version), store.ErrConflict)
	f.wantRange(s, names[2], again, 0, 10)
	f.wantRange(f.openRaw(), names[2], again, 10, 20)
	for i, name := range names {
		if i != 2 {
			f.wantRange(other, name, up(0, 1, 1), int64(100*i+5), int64(100*i+6))
		}
	}
}
