// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// TestIdle checks that the pool evicts an idle sequence and gives its numbers back,
// and that callers which kept the sequence continue.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		p := newPool(t, f, sequence.Options{Idle: time.Minute})
		s := openSequence(t, p, "a", ascending)
		used := openSequence(t, p, "used", ascending)
		seldom := openSequence(t, p, "seldom", ascending)
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 2}), 1, 2)
		for i := range 200 {
			if i%45 == 0 {
				mustTake(t, seldom, sequence.Request{Count: 1})
			}
			mustTake(t, used, sequence.Request{Count: 1})
			time.Sleep(time.Second)
		}
		if m := p.Metrics(); m.Sequences != 2 || m.Evictions != 1 || m.Returned != 998 || m.Dropped != 0 {
			t.Fatalf("%+v", m)
		}
		if s.State().Remaining != 0 || used.State().Remaining != 800 {
			t.Fatalf("in memory: %+v, %+v", s.State(), used.State())
		}
		other := openSequence(t, p, "a", ascending)
		wantNumbers(t, mustTake(t, other, sequence.Request{Count: 1}), 3)
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 4)
		wantNumbers(t, mustTake(t, other, sequence.Request{Count: 1}), 5)
	})
}

// TestIdleRevived: an evicted sequence that is used again comes back into memory once.
func TestIdleRevived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, newFakeStore(), sequence.Options{Idle: time.Minute})
		s := openSequence(t, p, "a", ascending)
		for i := range int64(5) {
			wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), i+1)
			time.Sleep(time.Hour)
		}
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 6)
		if other := openSequence(t, p, "a", ascending); other != s {
			t.Fatal("two sequences of one name are in memory")
		}
		time.Sleep(time.Hour)
		closePool(t, p)
		if _, err := s.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, sequence.ErrClosed) {
			t.Fatal(err)
		}
	})
}

// TestWaitingIsNotIdle: a sequence that waits for a slow store is not evicted.
func TestWaitingIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.setDelay(time.Hour)
		p := newPool(t, f, sequence.Options{Idle: time.Minute, Timeout: 2 * time.Hour})
		s := openSequence(t, p, "a", ascending)
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 1)
		if n := f.calls.Load(); n != 1 {
			t.Fatalf("%d reservations", n)
		}
	})
}

// TestGiveBack: numbers that are given back were not used by any pool.
func TestGiveBack(t *testing.T) {
	f := newFakeStore()
	first, second := newPool(t, f, sequence.Options{}), newPool(t, f, sequence.Options{})
	a, b := openSequence(t, first, "a", ascending), openSequence(t, second, "a", ascending)
	wantNumbers(t, mustTake(t, a, sequence.Request{Count: 1}), 1)
	wantNumbers(t, mustTake(t, b, sequence.Request{Count: 1}), 1001)
	closePool(t, first) // the second has reserved since: 2 to 1000 are lost
	if m := first.Metrics(); m.Returned != 0 || m.Dropped != 999 {
		t.Fatalf("%+v", m)
	}
	closePool(t, second)
	if f.all["a"].Value != 1001 {
		t.Fatalf("the store has %+v", f.all["a"])
	}
	third := newPool(t, f, sequence.Options{})
	wantNumbers(t, mustTake(t, openSequence(t, third, "a", ascending), sequence.Request{Count: 1}), 1002)
}

// TestGiveBackOfSeveralRanges: only the last range can be given back. Before it are
// numbers of another pool.
func TestGiveBackOfSeveralRanges(t *testing.T) {
	for bound, want := range map[int64]int64{math.MaxInt64: 2000, 1500: 3000, 2500: 3000} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeStore()
			first, second := newPool(t, f, sequence.Options{Target: 1}), newPool(t, f, sequence.Options{})
			s := openSequence(t, first, "a", ascending)
			mustTake(t, s, sequence.Request{Count: 1})
			mustTake(t, openSequence(t, second, "a", ascending), sequence.Request{Count: 1})
			wantLast(t, mustTake(t, s, sequence.Request{Count: 899}), 900) // has 2001 to 3000 reserved
			synctest.Wait()
			openSequence(t, first, "a", sequence.Spec{Step: 1, Bound: bound})
			closePool(t, first)
			if f.all["a"].Value != want {
				t.Fatalf("with the bound %d the store has %+v, want %d", bound, f.all["a"], want)
			}
		})
	}
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		p := newPool(t, f, sequence.Options{})
		s, slow := openSequence(t, p, "a", ascending), openSequence(t, p, "slow", ascending)
		mustTake(t, s, sequence.Request{Count: 1})
		f.setDelay(time.Hour)
		ended := make(chan error)
		go func() {
			_, err := slow.Take(context.Background(), nil, sequence.Request{Count: 1})
			ended <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		closed := make(chan error)
		go func() { closed <- p.Close(ctx) }()
		if err := <-ended; !errors.Is(err, sequence.ErrClosed) {
			t.Errorf("a call that waited: %v", err)
		}
		if err := <-closed; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close while the store hangs: %v", err)
		}
		if ids, err := s.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, sequence.ErrClosed) {
			t.Errorf("a later call: %v, %v", ids, err)
		}
		if _, err := p.Sequence("b", ascending); !errors.Is(err, sequence.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestCloseAwaitsReservations: Close waits for running reservations, and gives back their ranges,
// too.
func TestCloseAwaitsReservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		p := newPool(t, f, sequence.Options{})
		s := openSequence(t, p, "a", ascending)
		mustTake(t, s, sequence.Request{Count: 1})
		f.setDelay(time.Second)
		wantLast(t, mustTake(t, s, sequence.Request{Count: 899}), 900) // begins a reservation
		synctest.Wait()
		closePool(t, p)
		if f.all["a"].Value != 900 {
			t.Fatalf("the store has %+v", f.all["a"])
		}
	})
}
