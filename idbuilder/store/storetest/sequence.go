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
