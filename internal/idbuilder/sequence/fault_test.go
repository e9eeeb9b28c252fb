// SPDX-License-Identifier: Apache-2.0

package sequence_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
)

var errDown = errors.New("the server is down")

// TestStoreDown: while the store is down, the pool gives the numbers in memory; calls that need
// more end with the store's error. The pool retries with a back-off, and notices without a
// request when the store works again. The log says both, once.
func TestStoreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		var down atomic.Bool
		f.before = func() error {
			if down.Load() {
				return errDown
			}
			return nil
		}
		var logged bytes.Buffer
		p := newPool(t, f, sequence.Options{Log: slog.New(slog.NewTextHandler(&logged, nil))})
		s := openSequence(t, p, "a", ascending)
		mustTake(t, s, sequence.Request{Count: 1})
		down.Store(true)
		wantLast(t, mustTake(t, s, sequence.Request{Count: 950}), 951) // begins a reservation
		for i := range int64(40) {
			wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 952+i)
		}
		before := f.calls.Load()
		inParallel(100, func() {
			for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
				if ids, err := s.Take(t.Context(), nil, sequence.Request{Count: 10}); !errors.Is(err, errDown) {
					t.Errorf("%v, %v", ids, err)
				}
			}
		})
		if n := f.calls.Load() - before; n < 60 || n > 130 {
			t.Errorf("%d reservations in a minute, the back-off is 0.5 to 1 s", n)
		}
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 992)
		down.Store(false)
		time.Sleep(time.Second)
		if left := s.State().Remaining; left < 1000 {
			t.Fatalf("%d numbers in memory one back-off after the recovery", left)
		}
		wantLast(t, mustTake(t, s, sequence.Request{Count: 10}), 1002)
		synctest.Wait()
		for _, line := range []string{"the store reserves no numbers", "the store reserves numbers again"} {
			if n := strings.Count(logged.String(), line); n != 1 {
				t.Errorf("%q is logged %d times", line, n)
			}
		}
	})
}

func inParallel(n int, f func()) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(f)
	}
	wg.Wait()
}

func wantLast(t testing.TB, ids []int64, want int64) {
	t.Helper()
	if got := ids[len(ids)-1]; got != want {
		t.Fatalf("the last number is %d, want %d", got, want)
	}
}

// TestEndedContextNamesTheStoresError: if the context of a call ends, the error has the store's
// error.
func TestEndedContextNamesTheStoresError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.before = func() error { return store.ErrLost }
		p := newPool(t, f, sequence.Options{MinBackoff: time.Hour, MaxBackoff: time.Hour})
		s := openSequence(t, p, "a", ascending)
		if _, err := s.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, store.ErrLost) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Take(ctx, nil, sequence.Request{Count: 1})
		if !errors.Is(err, store.ErrLost) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

// TestUnknownOutcome: numbers of a reservation without an answer are skipped.
func TestUnknownOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		lost := errors.New("connection lost")
		f.after = func() error {
			if f.calls.Load() == 1 {
				return lost
			}
			return nil
		}
		p := newPool(t, f, sequence.Options{})
		s := openSequence(t, p, "a", ascending)
		if _, err := s.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, lost) {
			t.Fatal(err)
		}
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 1001)
	})
}

// TestTimeout: a reservation that hangs ends; the next one is made.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.setDelay(time.Hour)
		p := newPool(t, f, sequence.Options{Timeout: time.Second})
		s := openSequence(t, p, "a", ascending)
		start := time.Now()
		_, err := s.Take(t.Context(), nil, sequence.Request{Count: 1})
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Fatalf("%v after %v", err, took)
		}
		f.setDelay(0)
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 1)
	})
}

// TestImpossibleRanges: ranges that a store must not return are not given to callers.
func TestImpossibleRanges(t *testing.T) {
	for _, wrong := range []store.Range{{}, {From: 10}, {From: 0, To: 5000}, {From: 9_990, To: 10_010}, {From: 20_000, To: 20_010}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, answers{newFakeStore(), wrong}, sequence.Options{})
			s := openSequence(t, p, "a", sequence.Spec{Step: 1, Bound: 10_000})
			if ids, err := s.Take(t.Context(), nil, sequence.Request{Count: 1}); err == nil || errors.Is(err, store.ErrExhausted) {
				t.Errorf("%+v: %v, %v", wrong, ids, err)
			}
		})
	}
}

type answers struct {
	store.Store
	r store.Range
}

func (a answers) Reserve(context.Context, string, store.Reservation) (store.Range, error) {
	return a.r, nil
}

// TestRewound: numbers that the pool was given before are refused, until the
// store has passed them, or Drop confirms that the sequence was set back.
func TestRewound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		p := newPool(t, f, sequence.Options{})
		s := openSequence(t, p, "a", ascending)
		wantLast(t, mustTake(t, s, sequence.Request{Count: 1500}), 1500)
		rewind := func(value int64) {
			synctest.Wait()
			if err := f.SetSequence(t.Context(), "a", value, f.all["a"].Version); err != nil {
				t.Fatal(err)
			}
		}
		rewind(-1_000_000)
		for mem := s.State().Remaining; mem > 0; mem-- {
			mustTake(t, s, sequence.Request{Count: 1}) // begins a reservation, which is refused
		}
		if ids, err := s.Take(t.Context(), nil, sequence.Request{Count: 1}); !errors.Is(err, sequence.ErrRewound) {
			t.Fatalf("%v, %v", ids, err)
		}
		rewind(100)
		p.Drop("a")
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 101)
		rewind(50)
		openSequence(t, p, "a", sequence.Spec{Start: 50, Step: 1, Bound: math.MaxInt64})
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 51)
	})
}

// TestDropDuringReservation: a range that was being reserved when the sequence was
// dropped is not used: it may have been reserved before the sequence was set.
func TestDropDuringReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.setDelay(time.Second)
		p := newPool(t, f, sequence.Options{})
		s := openSequence(t, p, "a", ascending)
		go func() { time.Sleep(time.Second / 2); p.Drop("a") }()
		wantNumbers(t, mustTake(t, s, sequence.Request{Count: 1}), 1001)
	})
}

// TestRestoredStore checks that a pool rewinds no sequence which it finds at the
// version that it knows and at another value, as in a store that was restored from
// a backup and moved ahead while the pool was running.
func TestRestoredStore(t *testing.T) {
	f := newFakeStore()
	p := newPool(t, f, sequence.Options{BatchSize: 10})
	mustTake(t, openSequence(t, p, "a", sequence.Spec{Step: 1, Bound: 1000}), sequence.Request{Count: 1})
	f.mu.Lock()
	f.all["a"] = store.Sequence{Value: 500, Version: f.all["a"].Version}
	f.mu.Unlock()
	closePool(t, p)
	if q := f.all["a"]; q.Value != 500 {
		t.Errorf("the sequence went from 500 back to %d", q.Value)
	}
}
