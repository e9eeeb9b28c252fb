// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

var ascending = sequence.Spec{Step: 1, Bound: math.MaxInt64}

func mustTake(t testing.TB, s *sequence.Sequence, r sequence.Request) []int64 {
	t.Helper()
	ids, err := s.Take(t.Context(), nil, r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return ids
}

func wantNumbers(t testing.TB, got []int64, want ...int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestTake(t *testing.T) {
	p := newPool(t, newFakeStore(), sequence.Options{BatchSize: 10})
	s := openSequence(t, p, "orders", sequence.Spec{Start: 1000, Step: 10, Bound: math.MaxInt64})
	wantNumbers(t, mustTake(t, s, sequence.Request{Count: 2}), 1010, 1020)
	wantNumbers(t, mustTake(t, s, sequence.Request{Count: 3, Delta: 1}), 1021, 1022, 1023)
	wantNumbers(t, mustTake(t, s, sequence.Request{Count: 2, Delta: 1000}), 2023, 3023) // more than a batch; the ranges touch
	wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 3033)
	down := openSequence(t, p, "down", sequence.Spec{Start: 3, Step: -2, Bound: -5})
	wantNumbers(t, mustTake(t, down, sequence.Request{Count: 3}), 1, -1, -3)
	wantNumbers(t, mustTake(t, down, sequence.Request{Count: 1, Delta: -1}), -4)
	if _, err := down.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, store.ErrExhausted) {
		t.Fatalf("-6 is beyond the bound, the error is %v", err)
	}
	wantNumbers(t, mustTake(t, down, sequence.Request{Count: 1, Delta: -1}), -5)
}

func TestTakeAppends(t *testing.T) {
	p := newPool(t, newFakeStore(), sequence.Options{})
	s := openSequence(t, p, "a", sequence.Spec{Step: 1, Bound: 5})
	dst := make([]int64, 1, 8)
	ids, err := s.Take(t.Context(), dst, sequence.Request{Count: 3})
	if err != nil || &ids[0] != &dst[0] {
		t.Fatalf("%v, %v", ids, err)
	}
	wantNumbers(t, ids, 0, 1, 2, 3)
	for _, random := range []bool{false, true} {
		ids, err = s.Take(t.Context(), ids, sequence.Request{Count: 3, Random: random})
		if !errors.Is(err, store.ErrExhausted) {
			t.Fatal(err)
		}
		wantNumbers(t, ids, 0, 1, 2, 3)
	}
}

func TestFaultsOfRequests(t *testing.T) {
	p := newPool(t, newFakeStore(), sequence.Options{})
	s := openSequence(t, p, "a", ascending)
	for _, r := range []sequence.Request{{}, {Count: -1}, {Count: sequence.MaxCount + 1}, {Count: 1, Delta: -1}} {
		if ids, err := s.Take(t.Context(), nil, r); err == nil {
			t.Errorf("%+v: %v", r, ids)
		}
	}
	for name, spec := range map[string]sequence.Spec{"": ascending, "a\x00": ascending, "b": {}} {
		if _, err := p.Sequence(name, spec); err == nil {
			t.Errorf("the sequence %q, %+v is accepted", name, spec)
		}
	}
}

// TestExtremes: numbers go up to both ends of int64 without overflow.
func TestExtremes(t *testing.T) {
	p := newPool(t, newFakeStore(), sequence.Options{})
	up := openSequence(t, p, "up", sequence.Spec{Start: math.MaxInt64 - 3, Step: 1, Bound: math.MaxInt64})
	wantNumbers(t, mustTake(t, up, sequence.Request{Count: 2}), math.MaxInt64-2, math.MaxInt64-1)
	far := sequence.Request{Count: sequence.MaxCount, Delta: math.MaxInt64}
	if _, err := up.Take(t.Context(), nil, far); !errors.Is(err, store.ErrExhausted) {
		t.Fatal(err)
	}
	wantNumbers(t, mustTake(t, up, sequence.Request{Count: 1, Delta: math.MaxInt64, Random: true}), math.MaxInt64)
	fresh := openSequence(t, p, "fresh", ascending)
	if _, err := fresh.Take(t.Context(), nil, far); !errors.Is(err, store.ErrExhausted) || fresh.State().Version != 0 {
		t.Fatalf("%v, %+v", err, fresh.State())
	}
	down := openSequence(t, p, "down", sequence.Spec{Start: math.MinInt64 + 2, Step: -2, Bound: math.MinInt64})
	wantNumbers(t, mustTake(t, down, sequence.Request{Count: 1}), math.MinInt64)
	wide := openSequence(t, p, "wide", sequence.Spec{Start: math.MinInt64, Step: math.MaxInt64, Bound: math.MaxInt64})
	wantNumbers(t, mustTake(t, wide, sequence.Request{Count: 2}), -1, math.MaxInt64-1)
	wantNumbers(t, mustTake(t, wide, sequence.Request{Count: 1, Delta: 1}), math.MaxInt64)
	least := openSequence(t, p, "least", sequence.Spec{Start: math.MaxInt64, Step: math.MinInt64, Bound: math.MinInt64})
	wantNumbers(t, mustTake(t, least, sequence.Request{Count: 1}), -1)
	wantNumbers(t, mustTake(t, least, sequence.Request{Count: 1, Delta: -math.MaxInt64}), math.MinInt64)
}

// TestSteadyStateDoesNotWait: at ten times the default batch a second, with a
// store that needs 50 ms, only the first second has requests that wait.
func TestSteadyStateDoesNotWait(t *testing.T) {
	for _, size := range []int{1, 1000} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeStore()
			f.setDelay(50 * time.Millisecond)
			p := newPool(t, f, sequence.Options{})
			s := openSequence(t, p, "a", ascending)
			consume := func(d time.Duration) {
				for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Duration(size) * 100 * time.Microsecond) {
					mustTake(t, s, sequence.Request{Count: size})
				}
			}
			consume(time.Second)
			before := p.Metrics()
			consume(time.Minute)
			after := p.Metrics()
			if n := after.Waits - before.Waits; n != 0 {
				t.Errorf("size %d: %d of %d requests waited", size, n, 600_000/size)
			}
			if n := after.Reservations - before.Reservations; n > 60 {
				t.Errorf("size %d: %d reservations in a minute", size, n)
			}
			if left := s.State().Remaining; left > 2*100_000 {
				t.Errorf("size %d: %d numbers in memory, ten seconds use 100,000", size, left)
			}
		})
	}
}

// TestSlowStoreIsAskedEarlier: if a fifth of a batch does not last until the store answers, the
// next batch is reserved earlier.
func TestSlowStoreIsAskedEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.setDelay(4 * time.Second) // a fifth of a batch lasts for 2 s
		p := newPool(t, f, sequence.Options{})
		s := openSequence(t, p, "a", ascending)
		consume := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
				mustTake(t, s, sequence.Request{Count: 10})
			}
		}
		consume(3 * time.Minute)
		before := p.Metrics()
		consume(time.Minute)
		if n := p.Metrics().Waits - before.Waits; n != 0 {
			t.Errorf("%d requests waited", n)
		}
	})
}

// TestMaxBatch: no reservation takes more than MaxBatch, unless one request needs it.
func TestMaxBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		p := newPool(t, f, sequence.Options{BatchSize: 100, MaxBatch: 500})
		s := openSequence(t, p, "a", ascending)
		for range 10_000 {
			mustTake(t, s, sequence.Request{Count: 100})
			synctest.Wait()
			if left := s.State().Remaining; left > 1000 {
				t.Fatalf("%d numbers in memory", left)
			}
			time.Sleep(time.Millisecond)
		}
		before := s.State().Remaining
		wantLast(t, mustTake(t, s, sequence.Request{Count: 5000}), 1_005_000)
		if n := f.calls.Load(); before > 1000 || n > 2500 {
			t.Fatalf("%d reservations", n)
		}
	})
}

// TestContextEndsAsTheStoreAnswers: if the context ends while the store answers, a call gets
// either its numbers or an error.
func TestContextEndsAsTheStoreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.setDelay(time.Second)
		p := newPool(t, f, sequence.Options{})
		for i := range 100 {
			s := openSequence(t, p, fmt.Sprint(i), ascending)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			ids, err := s.Take(ctx, nil, sequence.Request{Count: 1})
			cancel()
			wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), int64(len(ids))+1)
			if (err == nil) != (len(ids) == 1) {
				t.Fatalf("%v, %v", ids, err)
			}
		}
	})
}

func TestEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.setDelay(time.Second)
		p := newPool(t, f, sequence.Options{})
		s := openSequence(t, p, "a", ascending)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Take(ctx, nil, sequence.Request{Count: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 1) // the same reservation
		if n := f.calls.Load(); n != 1 {
			t.Fatalf("%d reservations", n)
		}
		ids, err := s.Take(ctx, nil, sequence.Request{Count: 1}) // in memory
		if err != nil {
			t.Fatal(err)
		}
		wantNumbers(t, ids, 2)
	})
}
