// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// TestConcurrency checks that as many commands as are allowed run at once, and no more.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		x := &executor{ensure: func(context.Context, core.EnsureActivation) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return nil
		}}
		m := alone(t, newHome(t, memory.Options{}), x, driver.Options{Concurrency: 7}, core.Options{RequestTimeout: time.Hour})
		began := time.Now()
		var wait sync.WaitGroup
		for i := range 70 {
			wait.Go(func() { resolve(t, m, keyOf(fmt.Sprint(i))) })
		}
		wait.Wait()
		if took := time.Since(began); most.Load() != 7 || took != 10*time.Second {
			t.Errorf("at most %d ran at once, and all took %v", most.Load(), took)
		}
		stop(t, m)
	})
}

// TestHungExecutor: an executor that ignores its context fails at the hard limit and blocks no
// other key. If it makes an activation later, the driver ends that.
func TestHungExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		x := &executor{ensure: func(ctx context.Context, c core.EnsureActivation) error {
			if c.Key.ID == "hangs" && c.Epoch <= 2 {
				<-hang
			}
			return nil
		}}
		h := newHome(t, memory.Options{})
		o := driver.Options{Concurrency: 1, CommandTimeout: 2 * time.Second}
		m := alone(t, h, x, o, core.Options{RequestTimeout: time.Minute})
		began := time.Now()
		var wait sync.WaitGroup
		wait.Go(func() {
			_, err := asyncResolve(m, keyOf("hangs"))
			var hung *driver.HungError
			var failed *core.ActivationError
			if !errors.As(err, &failed) || !errors.As(err, &hung) || !errors.Is(err, context.DeadlineExceeded) || hung.After != o.CommandTimeout || hung.Command != "EnsureActivation" {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took != 2*time.Second {
				t.Errorf("it took %v", took)
			}
		})
		synctest.Wait()
		resolve(t, m, keyOf("other")) // waits for the only place
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("the other took %v", took)
		}
		wait.Wait()
		r := resolve(t, m, keyOf("hangs")) // epoch 3, or one more
		close(hang)
		synctest.Wait()
		if active, _ := m.countActivations(); active != 2 || !m.runs(keyOf("hangs"), r.Epoch) {
			t.Errorf("%v are active, want 2 with epoch %d", m.running(), r.Epoch)
		}
		stop(t, m)
		if h.Len() != 0 {
			t.Errorf("%d rows are left", h.Len())
		}
	})
}

// asyncResolve makes one attempt, and waits for its answer.
func asyncResolve(m *member, key placement.Key) (core.Resolution, error) {
	type answer struct {
		r   core.Resolution
		err error
	}
	answers := make(chan answer, 2)
	m.ResolveAsync(key, func(r core.Resolution, err error) { answers <- answer{r, err} })
	a := <-answers
	return a.r, a.err
}

// TestLateClaim: the driver gives back a lock that is granted after the hard limit.
func TestLateClaim(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t, options)
				m := alone(t, &sleepy{home: h}, &executor{}, driver.Options{CommandTimeout: time.Second}, core.Options{})
				_, err := asyncResolve(m, keyOf("1"))
				if !errors.Is(err, placement.ErrUnavailable) || !core.IsRetryable(err) {
					t.Errorf("got %v", err)
				}
				time.Sleep(2*time.Second - time.Nanosecond)
				if h.Len() != 0 {
					t.Error("the lock was granted already")
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				if _, made := m.countActivations(); h.Len() != 0 || made != 0 {
					t.Errorf("the late lock was not given back, or used: %d made", made)
				}
				stop(t, m)
				time.Sleep(10 * time.Second) // the claim that is repeated to learn the outcome is also late
				if h.Len() != 0 {
					t.Error("a late lock is left")
				}
			})
		})
	}
}

// sleepy is a home that takes 3 seconds for a claim, whatever its context says.
type sleepy struct{ home }

func (h *sleepy) TryAcquire(ctx context.Context, c core.TryAcquire) (core.Lease, error) {
	time.Sleep(3 * time.Second)
	return h.home.TryAcquire(context.WithoutCancel(ctx), c)
}

// TestMaxHung: while too many commands hang, new claims are refused and running ones can end.
// Claims work again after the hung commands have returned.
func TestMaxHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		x := &executor{ensure: func(_ context.Context, c core.EnsureActivation) error {
			if strings.HasPrefix(c.Key.ID, "hangs") {
				<-hang
			}
			return nil
		}}
		h := newHome(t, memory.Options{})
		m := alone(t, h, x, driver.Options{MaxHung: 3, CommandTimeout: time.Second}, core.Options{})
		for i := range 3 {
			if _, err := asyncResolve(m, keyOf(fmt.Sprint("hangs", i))); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		}
		_, err := asyncResolve(m, keyOf("1"))
		if !errors.Is(err, placement.ErrOverloaded) || !core.IsRetryable(err) || !strings.Contains(err.Error(), "3 commands") {
			t.Errorf("with 3 hung commands: got %v", err)
		}
		synctest.Wait()
		if h.Len() != 0 {
			t.Errorf("the home has %d rows", h.Len())
		}
		close(hang)
		synctest.Wait() // until the driver has ended the activations that were made late
		resolve(t, m, keyOf("1"))
		stop(t, m)
	})
}

// TestLateActivationAfterStop: the driver ends an activation that is made after Stop.
func TestLateActivationAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		x := &executor{ensure: func(context.Context, core.EnsureActivation) error { <-hang; return nil }}
		h := newHome(t, memory.Options{})
		m := alone(t, h, x, driver.Options{CommandTimeout: time.Second}, core.Options{})
		if _, err := asyncResolve(m, keyOf("1")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		stop(t, m)
		close(hang)
		synctest.Wait()
		if active, made := m.countActivations(); active != 0 || made != 1 || h.Len() != 0 {
			t.Errorf("%d of %d activations run after Stop, %d rows are left", active, made, h.Len())
		}
	})
}

// TestPanics: each method panics or calls runtime.Goexit. The request fails with the stack in
// its error, or goes on without the step. The driver goes on, and nothing is left.
func TestPanics(t *testing.T) {
	boom := errors.New("boom")
	for _, exits := range []bool{false, true} {
		for _, method := range []string{"TryAcquire", "Load", "EnsureActivation", "Store", "Release", "Deactivate", "Remove"} {
			t.Run(fmt.Sprintf("%s/exits=%v", method, exits), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var fail atomic.Bool
					fail.Store(true)
					hook := func(called string) error {
						switch {
						case called != method || !fail.Swap(false):
						case exits:
							runtime.Goexit()
						default:
							panic(boom)
						}
						return nil
					}
					checkPanic(t, hook, method, exits)
				})
			})
		}
	}
}

func checkPanic(t *testing.T, hook func(method string) error, method string, exits bool) {
	x := &executor{
		ensure:     func(context.Context, core.EnsureActivation) error { return hook("EnsureActivation") },
		deactivate: func(context.Context, core.Deactivate) error { return hook("Deactivate") },
	}
	inner := newHome(t, memory.Options{})
	h := &hookedHome{home: inner, before: func(_ context.Context, m string, _ placement.Key) error { return hook(m) }}
	m := alone(t, h, x, driver.Options{Concurrency: 1}, core.Options{})
	_, err := asyncResolve(m, keyOf("1"))
	switch method {
	case "TryAcquire", "Load", "EnsureActivation", "Store":
		var panicErr *driver.PanicError
		if !errors.As(err, &panicErr) || !strings.Contains(err.Error(), "commands_test.go") {
			t.Fatalf("got %v", err)
		}
		if got := panicErr.Value; exits != (got == nil) || !exits && got.(error).Error() != "boom" {
			t.Errorf("the value of the panic is %v", got)
		}
		if retryable := method != "EnsureActivation"; core.IsRetryable(err) != retryable {
			t.Errorf("retryable: %v", !retryable)
		}
	default:
		if err != nil {
			t.Error(err)
		}
	}
	resolve(t, m, keyOf("1"))
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if method != "Deactivate" { // after a Deactivate the activation counts as ended
		if active, _ := m.countActivations(); active > 0 {
			t.Errorf("%d activations are left", active)
		}
	}
	if left := inner.Len(); left > 0 {
		t.Errorf("%d rows are left", left)
	}
}

// TestClaimsAreSpread: after an outage all members claim all keys again. Their claims come over a
// time, and later ones at once; other commands do not wait.
func TestClaimsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var claims []time.Duration
		began := time.Now()
		h := &hookedHome{home: newHome(t, memory.Options{Kept: true})}
		h.before = func(_ context.Context, method string, _ placement.Key) error {
			mu.Lock()
			defer mu.Unlock()
			if method == "TryAcquire" {
				claims = append(claims, time.Since(began))
			}
			return nil
		}
		m := alone(t, h, new(executor), driver.Options{ClaimSpread: 5 * time.Second, Concurrency: 1}, core.Options{})
		var group sync.WaitGroup
		for i := range 1000 {
			group.Go(func() { resolve(t, m, keyOf(fmt.Sprint(i))) })
		}
		group.Wait()
		for second := range 5 {
			from := time.Duration(second) * time.Second
			n := 0
			for _, at := range claims {
				if at >= from && at < from+time.Second {
					n++
				}
			}
			if n < 100 || n > 300 { // eight standard deviations
				t.Errorf("in second %d there are %d of 1,000 claims", second, n)
			}
		}
		time.Sleep(time.Second)
		before := time.Now()
		resolve(t, m, keyOf("later"))
		if took := time.Since(before); took > 0 {
			t.Errorf("a claim after that takes %v", took)
		}
		stop(t, m)
	})
}
