// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// TestRespec: a change of the bound applies to the numbers in memory, and to a sequence that was
// exhausted; the direction cannot change.
func TestRespec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		p := newPool(t, f, sequence.Options{})
		s := openSequence(t, p, "a", ascending)
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 1)
		set := func(step, bound int64) { openSequence(t, p, "a", sequence.Spec{Step: step, Bound: bound}) }
		set(1, 3)
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 2}), 2, 3)
		exhausted := func() {
			t.Helper()
			if ids, err := s.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, store.ErrExhausted) {
				t.Fatalf("%v, %v", ids, err)
			}
		}
		exhausted()
		synctest.Wait()
		calls := f.calls.Load()
		for range 100 {
			exhausted()
		}
		if n := f.calls.Load(); n != calls {
			t.Fatalf("the store is asked %d times whether it is still exhausted", n-calls)
		}
		set(1, 3000)
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 1001) // 4 to 1000 were reserved and dropped
		set(7, 3000)
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 2}), 1008, 1015)
		if _, err := p.Sequence("a", sequence.Spec{Step: -1, Bound: math.MinInt64}); !errors.Is(err, sequence.ErrDirection) {
			t.Fatal(err)
		}
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 1022)
	})
}

// TestDirection checks that an unused sequence may change its direction, and that
// callers with the old direction then get no number.
func TestDirection(t *testing.T) {
	p := newPool(t, newFakeStore(), sequence.Options{})
	up := openSequence(t, p, "a", ascending)
	down := openSequence(t, p, "a", sequence.Spec{Step: -1, Bound: -10})
	wantNumbers(t, mustTake(t, down, sequence.Request{Count: 1}), -1)
	if ids, err := up.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, sequence.ErrDirection) {
		t.Fatalf("%v, %v", ids, err)
	}
	if _, err := p.Sequence("a", ascending); !errors.Is(err, sequence.ErrDirection) {
		t.Fatal(err)
	}
	wantNumbers(t, mustTake(t, down, sequence.Request{Count: 1}), -2)
}

// TestExhaustedUntilGivenBack: a pool notices that another one has given numbers
// back.
func TestExhaustedUntilGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		spec := sequence.Spec{Step: 1, Bound: 20}
		first, second := newPool(t, f, sequence.Options{}), newPool(t, f, sequence.Options{})
		a, b := openSequence(t, first, "a", spec), openSequence(t, second, "a", spec)
		wantNumbers(t, mustTake(t, a, sequence.Request{Count: 1}), 1)
		wantLast(t, mustTake(t, b, sequence.Request{Count: 9}), 19)
		synctest.Wait()
		take := func() error { _, err := a.Take(t.Context(), nil, sequence.Request{Count: 10}); return err }
		if err := take(); !errors.Is(err, store.ErrExhausted) {
			t.Fatal(err)
		}
		closePool(t, second) // gives 20 back
		wantLast(t, mustTake(t, a, sequence.Request{Count: 9}), 10)
		if _, err := a.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, store.ErrExhausted) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		wantNumbers(t, mustTake(t, a, sequence.Request{Count: 1}), 20)
		calls := f.calls.Load()
		for range 10_000 {
			if err := take(); !errors.Is(err, store.ErrExhausted) {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := f.calls.Load() - calls; n > 11 {
			t.Fatalf("an exhausted store is asked %d times in 100 s", n)
		}
	})
}

// TestRespecDuringReservation: a range that was reserved for an older bound is cut; a sequence
// that was exhausted at an older bound is not so at the new one.
func TestRespecDuringReservation(t *testing.T) {
	for _, bounds := range [][2]int64{{1 << 40, 500}, {0, 500}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeStore()
			f.setDelay(time.Second)
			p := newPool(t, f, sequence.Options{BatchSize: 1000})
			s := openSequence(t, p, "a", sequence.Spec{Step: 1, Bound: bounds[0]})
			go func() {
				time.Sleep(time.Second / 2)
				openSequence(t, p, "a", sequence.Spec{Step: 1, Bound: bounds[1]})
			}()
			var ids []int64
			var err error
			for err == nil {
				ids, err = s.Take(t.Context(), ids, sequence.Request{Count: 1})
			}
			if !errors.Is(err, store.ErrExhausted) || len(ids) != 500 || ids[499] != 500 {
				t.Fatalf("bounds %v: %d numbers, %v", bounds, len(ids), err)
			}
		})
	}
}

// TestCloseToTheBound: near the bound, one pool does not reserve a large part of the remaining
// numbers.
func TestCloseToTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, newFakeStore(), sequence.Options{})
		s := openSequence(t, p, "a", sequence.Spec{Step: 1, Bound: 99_999})
		for last := int64(0); last < 99_999; last++ {
			wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), last+1)
			synctest.Wait()
			rest := 99_999 - last
			if kept := int64(s.State().Remaining); kept > max(rest/8+rest/40, 20) {
				t.Fatalf("%d of the last %d numbers are in memory", kept, rest)
			}
		}
	})
}

// TestPlaceIsFoundFirst: a pool that does not know the position of the sequence reserves little
// at first.
func TestPlaceIsFoundFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.all["a"] = store.Sequence{Value: 99_500, Version: 1}
		p := newPool(t, f, sequence.Options{})
		s := openSequence(t, p, "a", sequence.Spec{Step: 1, Bound: 99_999})
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 99_501)
		synctest.Wait()
		if kept := s.State().Remaining; kept > 20 {
			t.Fatalf("%d of the last 498 numbers are in memory", kept)
		}
	})
}

// TestShrinks: after a busy time batches become small again.
func TestShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, newFakeStore(), sequence.Options{Idle: -1})
		s := openSequence(t, p, "a", ascending)
		for range 10_000 {
			mustTake(t, s, sequence.Request{Count: 100})
			time.Sleep(time.Millisecond)
		}
		if left := s.State().Remaining; left < 100_000 {
			t.Fatalf("%d numbers in memory at 100,000 a second", left)
		}
		for range 100_000 {
			mustTake(t, s, sequence.Request{Count: 100})
			time.Sleep(time.Minute)
		}
		if left := s.State().Remaining; left > 1200 {
			t.Fatalf("%d numbers in memory at 100 a minute", left)
		}
	})
}

// TestLargeRequestsDoNotStarve: at the latest the second reservation is large enough for all
// waiting requests, which get its numbers in turn, even if smaller requests come in the
// meantime.
func TestLargeRequestsDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.setDelay(time.Second)
		p := newPool(t, f, sequence.Options{BatchSize: 10, MaxBatch: 10})
		s := openSequence(t, p, "a", ascending)
		done := make(chan int64)
		for range 20 {
			go func() { done <- mustTake(t, s, sequence.Request{Count: 1000})[0] }()
			synctest.Wait()
		}
		go inParallel(100, func() {
			for range 1000 {
				_, _ = s.Take(t.Context(), nil, sequence.Request{Count: 1})
			}
		})
		start, last := time.Now(), int64(0)
		for range 20 {
			last = max(last, <-done)
		}
		if took := time.Since(start); took != 2*time.Second || last > 10+20_000 {
			t.Errorf("20 large requests took %v; the last one got the numbers from %d", took, last)
		}
	})
}

// TestConcurrency: of the reservations of many sequences a few run at a time; those that a
// request waits for go first.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		p := newPool(t, f, sequence.Options{Concurrency: 2})
		sequences := make([]*sequence.Sequence, 100)
		for i := range sequences {
			sequences[i] = openSequence(t, p, fmt.Sprint(i), ascending)
			mustTake(t, sequences[i], sequence.Request{Count: 1})
		}
		f.setDelay(time.Second)
		for _, s := range sequences {
			mustTake(t, s, sequence.Request{Count: 900}) // has a range reserved in the background
		}
		time.Sleep(time.Second / 2)
		start := time.Now()
		urgent := []*sequence.Sequence{openSequence(t, p, "urgent", ascending), sequences[99]}
		var next atomic.Int64
		inParallel(2, func() { mustTake(t, urgent[next.Add(1)-1], sequence.Request{Count: 100}) })
		if took := time.Since(start); took != 3*time.Second/2 {
			t.Errorf("urgent reservations took %v: 1 s, after those under way", took)
		}
		time.Sleep(time.Minute)
		if n := f.most.Load(); n != 2 {
			t.Errorf("%d reservations at a time", n)
		}
		for _, s := range sequences {
			if s.State().Remaining < 1000 {
				t.Fatalf("%+v", s.State())
			}
		}
	})
}
