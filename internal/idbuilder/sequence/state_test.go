// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

// TestIdleSequencesAreSmall bounds the memory of 20,000 sequences that were used once.
func TestIdleSequencesAreSmall(t *testing.T) {
	const n, most = 20_000, 450
	p := newPool(t, forgetful{}, sequence.Options{})
	sequences := make([]*sequence.Sequence, n)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("customer-", i)
	}
	goroutines, before := runtime.NumGoroutine(), heap()
	for i, name := range names {
		sequences[i] = openSequence(t, p, name, ascending)
		mustTake(t, sequences[i], sequence.Request{Count: 1})
	}
	for runtime.NumGoroutine() > goroutines { // for ever, if sequences keep goroutines
		runtime.Gosched()
	}
	each := (heap() - before) / n
	t.Logf("%d bytes a sequence", each)
	if each > most {
		t.Errorf("%d bytes a sequence, allowed are %d", each, most)
	}
	runtime.KeepAlive(sequences)
	runtime.KeepAlive(names)
}

// forgetful is a store without memory, for sequences that reserve once.
type forgetful struct{ store.Store }

func (forgetful) Reserve(_ context.Context, _ string, r store.Reservation) (store.Range, error) {
	to, err := r.Advance(r.Start)
	return store.Range{From: r.Start, To: to, Version: 1}, err
}

func (forgetful) Sequence(context.Context, string) (store.Sequence, error) {
	return store.Sequence{}, store.ErrNotFound
}

func (forgetful) SetSequence(context.Context, string, int64, int64) error { return nil }

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestTakeAllocatesNothing(t *testing.T) {
	p := newPool(t, newFakeStore(), sequence.Options{BatchSize: 1 << 30})
	s := openSequence(t, p, "a", ascending)
	dst := mustTake(t, s, sequence.Request{Count: 1000})
	for _, r := range []sequence.Request{{Count: 1}, {Count: 1000}, {Count: 1000, Delta: 3}} {
		if n := testing.AllocsPerRun(100, func() { dst, _ = s.Take(t.Context(), dst[:0], r) }); n != 0 {
			t.Errorf("%+v: %v allocations", r, n)
		}
	}
}

// TestRandom: all distances are about equally likely: χ² with 9 degrees of
// freedom is above 50 in one of ten million runs.
func TestRandom(t *testing.T) {
	p := newPool(t, newFakeStore(), sequence.Options{})
	s := openSequence(t, p, "a", sequence.Spec{Step: -10, Bound: -1 << 40})
	ids := append([]int64{0}, mustTake(t, s, sequence.Request{Count: 100_000, Random: true})...)
	var seen [11]float64
	for i, id := range ids[1:] {
		seen[ids[i]-id]++
	}
	chi := 0.0
	for _, n := range seen[1:] {
		chi += (n - 10_000) * (n - 10_000) / 10_000
	}
	if chi > 50 {
		t.Errorf("χ² is %.1f: %v", chi, seen[1:])
	}
}

func TestOptionsValidate(t *testing.T) {
	wrong := sequence.Options{
		BatchSize: -1, MaxBatch: -2, PrefetchThreshold: 1, Target: -1, Concurrency: -1, Timeout: -1, MinBackoff: -1, MaxBackoff: -2,
	}
	_, err := sequence.New(newFakeStore(), wrong)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, option := range []string{"BatchSize", "MaxBatch", "PrefetchThreshold", "BatchDuration", "Concurrency", "ReserveTimeout", "MinBackoff", "MaxBackoff"} {
		if n := strings.Count(err.Error(), ": "+option+" is "); n != 1 {
			t.Errorf("%s is named %d times: %v", option, n, err)
		}
	}
	large := sequence.Options{BatchSize: 1 << 40, MinBackoff: time.Hour}
	if err := large.Validate(); err != nil {
		t.Errorf("the other defaults do not follow: %v", err)
	}
}

// TestState: the last number that a pool gave is that of the sequence as long as the store has the version of
// its reservation.
func TestState(t *testing.T) {
	s := storetest.Memory(t)
	first, second := newPool(t, s, sequence.Options{}), newPool(t, s, sequence.Options{})
	spec := sequence.Spec{Start: 1000, Step: 1, Bound: 1 << 40}
	a, b := openSequence(t, first, "a", spec), openSequence(t, second, "a", spec)
	want := func(q *sequence.Sequence, last int64, exact bool) {
		t.Helper()
		stored, err := s.Sequence(t.Context(), "a")
		if st := q.State(); err != nil || !st.Given || st.Last != last || (st.Version == stored.Version) != exact {
			t.Fatalf("%+v, the store has %+v, %v; want %d, %v", st, stored, err, last, exact)
		}
	}
	if st := a.State(); st.Given || st.Version != 0 {
		t.Fatalf("before the first number: %+v", st)
	}
	mustTake(t, a, sequence.Request{Count: 5})
	want(a, 1005, true)
	mustTake(t, b, sequence.Request{Count: 1})
	want(a, 1005, false)
	want(b, 2001, true)
	if st := a.State(); st.Remaining != 995 || st.Reserved != 2000 {
		t.Errorf("%+v", st)
	}
}

// TestStores: pools over a store that loses answers give no number twice.
func TestStores(t *testing.T) {
	var calls atomic.Int64
	s := storetest.Faulty(storetest.Memory(t), func(storetest.Call) storetest.Fault {
		return storetest.Fault{Lose: calls.Add(1)%3 == 0}
	})
	given := map[int64]bool{}
	for range 10 {
		p := newPool(t, s, sequence.Options{BatchSize: 10, MinBackoff: 1, MaxBackoff: 1})
		q := openSequence(t, p, "a", ascending)
		for range 50 {
			ids, err := q.Take(t.Context(), nil, sequence.Request{Count: 3})
			for _, id := range ids {
				if given[id] {
					t.Fatalf("%d twice", id)
				}
				given[id] = true
			}
			if err != nil && !errors.Is(err, storetest.ErrFault) {
				t.Fatal(err)
			}
		}
		closePool(t, p)
	}
}
