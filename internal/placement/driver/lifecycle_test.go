// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// TestPassivation: Run ends idle activations and no others; a resolve that comes while an
// activation ends gets the next one; an executor can refuse.
func TestPassivation(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := &executor{deactivate: func(_ context.Context, c core.Deactivate) error {
					if c.Key.ID == "busy" && c.Cause == placement.CauseIdle {
						return fmt.Errorf("wrapped: %w", &driver.BusyError{UsedAt: c.IdleSince.Add(time.Second)})
					}
					time.Sleep(500 * time.Millisecond)
					return nil
				}}
				h := newHome(t, options)
				m := alone(t, h, x, driver.Options{IdleAfter: 10 * time.Second}, core.Options{})
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { _ = m.Run(ctx) })
				idle, used := resolve(t, m, keyOf("idle")), resolve(t, m, keyOf("used"))
				resolve(t, m, keyOf("busy"))
				for range 9 {
					time.Sleep(time.Second)
					m.Use(keyOf("used"), used.Epoch)
				}
				if active, _ := m.countActivations(); active != 3 {
					t.Errorf("%d are active after 9 s", active)
				}
				time.Sleep(1100 * time.Millisecond) // idle begins to end at 10 s
				next := resolve(t, m, keyOf("idle"))
				if next.Epoch <= idle.Epoch {
					t.Errorf("epoch %d follows %d", next.Epoch, idle.Epoch)
				}
				if _, made := m.countActivations(); made != 4 || !m.runs(keyOf("used"), used.Epoch) {
					t.Errorf("%d were made; active are %v", made, m.running())
				}
				time.Sleep(12 * time.Second)
				if active, _ := m.countActivations(); active != 1 || h.Len() != 1 {
					t.Errorf("%v are active, %d rows left; want the busy one", m.running(), h.Len())
				}
				cancel()
				running.Wait()
				stop(t, m)
			})
		})
	}
}

// TestStopUnderLoad stops the driver while resolves wait in every step: those that were not
// answered before get ErrStopped, and nothing is left.
func TestStopUnderLoad(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := newHome(t, options)
				slow := func(context.Context, string, placement.Key) error { time.Sleep(time.Second); return nil }
				h := &hookedHome{home: inner, before: slow}
				m := alone(t, h, &executor{}, driver.Options{}, core.Options{})
				var wait sync.WaitGroup
				for i := range 60 {
					wait.Go(func() {
						time.Sleep(time.Duration(i) * 100 * time.Millisecond)
						if _, err := m.Resolve(t.Context(), keyOf(fmt.Sprint(i%20))); err != nil && !errors.Is(err, placement.ErrStopped) {
							t.Errorf("got %v", err)
						}
					})
				}
				time.Sleep(4250 * time.Millisecond)
				stop(t, m)
				wait.Wait()
				if inner.Len() != 0 {
					t.Errorf("%d rows are left", inner.Len())
				}
				stop(t, m) // again
			})
		})
	}
}

// TestStopTellsWhatIsLeft stops the driver while the home is down: the error names what is not
// handed back, and a later Stop hands it back.
func TestStopTellsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := true
		inner := newHome(t, memory.Options{})
		h := &hookedHome{home: inner, before: func(_ context.Context, method string, _ placement.Key) error {
			if down && method == "Remove" {
				return placement.ErrUnavailable
			}
			return nil
		}}
		m := alone(t, h, &executor{}, driver.Options{}, core.Options{})
		for i := range 3 {
			resolve(t, m, keyOf(fmt.Sprint(i)))
		}
		boom := errors.New("boom")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, boom)
		defer cancel()
		err := m.Stop(ctx)
		var stopErr *driver.StopError
		if !errors.As(err, &stopErr) || !errors.Is(err, boom) || stopErr.Held != 3 || len(stopErr.Requests) != 3 || stopErr.Requests[0].Step != "remove" {
			t.Fatalf("got %+v (%v)", stopErr, err)
		}
		if !strings.Contains(err.Error(), "thing/") {
			t.Errorf("the error %q names no key", err)
		}
		down = false
		stop(t, m)
		if inner.Len() != 0 {
			t.Errorf("%d rows are left", inner.Len())
		}
	})
}

// TestLoseAll: a member that is dead to others ends all its activations, removes nothing, and
// resolves nothing.
func TestLoseAll(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t, options)
				m := alone(t, h, &executor{}, driver.Options{}, core.Options{})
				for i := range 5 {
					resolve(t, m, keyOf(fmt.Sprint(i)))
				}
				synctest.Wait()
				m.LoseAll()
				if _, err := m.Resolve(t.Context(), keyOf("1")); !errors.Is(err, placement.ErrDead) {
					t.Errorf("got %v", err)
				}
				stop(t, m)
				if h.Len() != 5 {
					t.Errorf("%d rows are left, want 5", h.Len())
				}
				for _, cause := range m.causes {
					if cause != placement.CauseLost {
						t.Errorf("the cause is %v", cause)
					}
				}
				if err := m.StartMember([]string{kind}); !errors.Is(err, placement.ErrDead) {
					t.Errorf("started again: got %v", err)
				}
			})
		})
	}
}

// TestLoseActivation: an activation that a fence has refused ends, and the key gets another
// with a greater epoch.
func TestLoseActivation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := alone(t, newHome(t, memory.Options{}), &executor{}, driver.Options{}, core.Options{})
		first := resolve(t, m, keyOf("1"))
		m.LoseActivation(keyOf("1"), first.Epoch)
		next := resolve(t, m, keyOf("1"))
		if next.Epoch <= first.Epoch || m.causes[0] != placement.CauseLost {
			t.Errorf("epoch %d follows %d, by the causes %v", next.Epoch, first.Epoch, m.causes)
		}
		stop(t, m)
	})
}

// TestClient checks that a client resolves without homes, and never activates.
func TestClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newMember(t, "a", newHome(t, memory.Options{}), &executor{}, driver.Options{}, core.Options{})
		coordinator, err := core.NewCoordinator(core.Options{Self: placement.Owner{Name: "c", Incarnation: 1}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := driver.New(coordinator, driver.Homes{}, driver.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.StartMember([]string{kind}); err == nil || !strings.Contains(err.Error(), "Homes.Lock") {
			t.Errorf("a member without homes: got %v", err)
		}
		if err := errors.Join(c.StartClient(), c.UpdateTopology(topology(1, a))); err != nil {
			t.Fatal(err)
		}
		r, err := c.Resolve(t.Context(), keyOf("1"))
		if err != nil || r.Locality != core.Remote || r.Owner != a.self.Owner || r.Address != a.self.Address {
			t.Errorf("got %+v and %v", r, err)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestValidate: the error has all faults of the arguments.
func TestValidate(t *testing.T) {
	o := driver.Options{Concurrency: -1, CommandTimeout: -1, MaxHung: -1, IdleAfter: -1, Tick: -1, EventBuffer: -1, Backoff: driver.Backoff{First: 2, Max: 1}}
	_, err := driver.New(nil, driver.Homes{Lock: newHome(t, memory.Options{})}, o)
	for _, part := range []string{"Concurrency", "CommandTimeout", "MaxHung", "IdleAfter", "Tick", "EventBuffer", "Backoff.First", "coordinator", "Homes.Storage", "Homes.Executor"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "Homes.Lock") {
		t.Errorf("got %v", err)
	}
	if err := (driver.Options{Coalesce: -1}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestPassivate: an activation that asks for its end ends and gives its key back; a former
// activation of the key cannot end the present one.
func TestPassivate(t *testing.T) {
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHome(t, options)
				m := alone(t, h, &executor{}, driver.Options{}, core.Options{})
				first := resolve(t, m, keyOf("1"))
				m.Passivate(keyOf("1"), first.Epoch-1)
				synctest.Wait()
				if active, _ := m.countActivations(); active != 1 {
					t.Errorf("%d are active after an earlier epoch asked for the end", active)
				}
				m.Passivate(keyOf("1"), first.Epoch)
				synctest.Wait()
				if active, _ := m.countActivations(); active != 0 || h.Len() != 0 {
					t.Errorf("%d are active, and the home has %d rows", active, h.Len())
				}
				if again := resolve(t, m, keyOf("1")); again.Epoch <= first.Epoch {
					t.Errorf("epoch %d came after epoch %d", again.Epoch, first.Epoch)
				}
				stop(t, m)
			})
		})
	}
}
