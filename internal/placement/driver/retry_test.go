// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// TestRetries: attempts with retryable errors are repeated until one succeeds, after random
// pauses below limits that double.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const failures = 9
		var attempts []time.Time
		x := &executor{ensure: func(context.Context, core.EnsureActivation) error {
			attempts = append(attempts, time.Now())
			if len(attempts) <= failures {
				return retryableError{}
			}
			return nil
		}}
		b := driver.Backoff{First: 10 * time.Millisecond, Max: 320 * time.Millisecond}
		m := alone(t, newHome(t, memory.Options{}), x, driver.Options{Backoff: b}, core.Options{})
		resolve(t, m, keyOf("1"))
		if len(attempts) != failures+1 {
			t.Fatalf("%d attempts", len(attempts))
		}
		pauses := map[time.Duration]bool{}
		for i := range failures {
			pause, limit := attempts[i+1].Sub(attempts[i]), min(b.Max, b.First<<i)
			pauses[pause] = true
			if pause <= 0 || pause > limit {
				t.Errorf("pause %d is %v, the limit %v", i, pause, limit)
			}
		}
		if len(pauses) < failures-1 {
			t.Errorf("the pauses are %v", pauses)
		}
		stop(t, m)
	})
}

// retryableError is an error of an executor that says it is retryable.
type retryableError struct{}

func (retryableError) Error() string   { return "not now" }
func (retryableError) Retryable() bool { return true }

// TestActivationErrorIsFinal: an attempt with an executor's error is not repeated, and the key
// can be resolved later.
func TestActivationErrorIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		calls := 0
		x := &executor{ensure: func(context.Context, core.EnsureActivation) error {
			if calls++; calls == 1 {
				return boom
			}
			return nil
		}}
		h := newHome(t, memory.Options{})
		m := alone(t, h, x, driver.Options{}, core.Options{})
		_, err := m.Resolve(t.Context(), keyOf("1"))
		if failed := (*core.ActivationError)(nil); !errors.As(err, &failed) || !errors.Is(err, boom) || calls != 1 {
			t.Errorf("after %d calls: got %v", calls, err)
		}
		synctest.Wait()
		if h.Len() != 0 {
			t.Error("the lock is held")
		}
		resolve(t, m, keyOf("1"))
		stop(t, m)
	})
}

// TestHomeUnavailable: each method of the home fails before and after it takes effect. The
// resolve succeeds once the home answers, with one activation, and all is handed back.
func TestHomeUnavailable(t *testing.T) {
	for _, method := range []string{"TryAcquire", "Load", "Store", "Release", "Remove"} {
		for _, executed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/executed=%v", method, executed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkUnavailable(t, method, executed) })
			})
		}
	}
}

func checkUnavailable(t *testing.T, method string, executed bool) {
	var mu sync.Mutex
	failures := 5
	fail := func(called string) error {
		mu.Lock()
		defer mu.Unlock()
		if called != method || failures == 0 {
			return nil
		}
		failures--
		return errors.New("the network is down") // not a type of placement's
	}
	inner := newHome(t, memory.Options{})
	h := &hookedHome{home: inner}
	if executed {
		h.after = func(_ context.Context, m string, _ placement.Key) error { return fail(m) }
	} else {
		h.before = func(_ context.Context, m string, _ placement.Key) error { return fail(m) }
	}
	x := &executor{}
	m := alone(t, h, x, driver.Options{}, core.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: got %v", err)
		}
	})
	r := resolve(t, m, keyOf("1"))
	synctest.Wait()
	if active, _ := m.countActivations(); active != 1 || !m.runs(keyOf("1"), r.Epoch) {
		t.Errorf("%v are active, want epoch %d", m.running(), r.Epoch)
	}
	stop(t, m)
	if inner.Len() != 0 || failures != 0 {
		t.Errorf("%d rows are left, %d failures to come", inner.Len(), failures)
	}
	cancel()
	running.Wait()
}

// TestAbandonedResolves: the driver forgets a resolve when its context ends; the activation
// that they began goes on for others.
func TestAbandonedResolves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		x := &executor{ensure: func(context.Context, core.EnsureActivation) error {
			<-hang
			return nil
		}}
		m := alone(t, newHome(t, memory.Options{}), x, driver.Options{}, core.Options{})
		var patient sync.WaitGroup
		patient.Go(func() { resolve(t, m, keyOf("1")) })
		synctest.Wait()
		var wait sync.WaitGroup
		for i := range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%10)*time.Millisecond)
			defer cancel()
			wait.Go(func() {
				_, err := m.Resolve(ctx, keyOf(fmt.Sprint(i%4)))
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		}
		wait.Wait()
		if waiting := m.Waiting(); waiting != 1 {
			t.Errorf("%d requests have waiters, want 1", waiting)
		}
		close(hang)
		patient.Wait()
		stop(t, m)
		if waiting := m.Waiting(); waiting != 0 {
			t.Errorf("%d requests have waiters", waiting)
		}
	})
}
