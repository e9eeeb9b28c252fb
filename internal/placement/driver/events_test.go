// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
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

// journal records events.
type journal struct {
	mu     sync.Mutex
	events []placement.Event
}

func (j *journal) record(e placement.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *journal) all() []placement.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.events)
}

func (j *journal) count(kind placement.EventKind) int {
	n := 0
	for _, e := range j.all() {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// TestEvents: each event arrives once and in the order of the coordinator's calls, also with
// many goroutines that resolve and a slow handler. Each call has a time of its own.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock atomic.Int64
		var j journal
		var calls sync.Mutex // TryLock succeeds if handlers do not overlap
		o := driver.Options{
			Now: func() time.Time { return time.Unix(0, clock.Add(1)) },
			Events: func(e placement.Event) {
				if !calls.TryLock() {
					t.Error("two handlers run at once")
				}
				if e.Request%7 == 1 {
					time.Sleep(time.Millisecond)
				}
				j.record(e)
				calls.Unlock()
			},
		}
		m := alone(t, newHome(t, memory.Options{}), &executor{}, o, core.Options{})
		const goroutines, resolves = 10, 40
		var wait sync.WaitGroup
		for g := range goroutines {
			wait.Go(func() {
				for i := range resolves {
					resolve(t, m, keyOf(fmt.Sprint((g*i)%13)))
				}
			})
		}
		wait.Wait()
		stop(t, m)
		if err := m.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		checkEvents(t, &j, goroutines*resolves)
	})
}

func checkEvents(t *testing.T, j *journal, resolves int) {
	t.Helper()
	begun, answered, direct := 0, 0, 0
	for i, e := range j.all() {
		if i > 0 && e.ObservedAt.Before(j.events[i-1].ObservedAt) {
			t.Errorf("event %d, %v of %v, comes after one of %v", i, e.Kind, e.ObservedAt, j.events[i-1].ObservedAt)
		}
		switch {
		case e.Kind == placement.Requested || e.Kind == placement.Joined:
			begun++
		case e.Kind == placement.Resolved && e.Request == 0:
			direct++
		case e.Kind == placement.Resolved:
			answered++
		}
	}
	if begun+direct != resolves {
		t.Errorf("%d resolves have %d direct answers and %d requests", resolves, direct, begun)
	}
	if requests := j.count(placement.Requested); answered != requests || requests != 13 || j.count(placement.Activated) != 13 || j.count(placement.Deactivated) != 13 {
		t.Errorf("%d requests, %d answers, %d activated, %d deactivated", requests, answered, j.count(placement.Activated), j.count(placement.Deactivated))
	}
	if last := j.events[len(j.events)-1]; last.Kind != placement.Deactivated {
		t.Errorf("the last event is %v", last.Kind)
	}
}

// TestCacheEvents checks the events of changes of the cache.
func TestCacheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kinds []core.CacheEventKind
		o := driver.Options{CacheEvents: func(e core.CacheEvent) { kinds = append(kinds, e.Kind) }}
		h := newHome(t, memory.Options{})
		a := newMember(t, "a", h, &executor{}, o, core.Options{})
		b := newMember(t, "b", h, &executor{}, driver.Options{}, core.Options{})
		start(t, 1, a, b)
		holder := placement.Holder{Owner: b.self.Owner, Address: b.self.Address, Epoch: 5}
		a.Learn(keyOf("1"), holder)
		if r := resolve(t, a, keyOf("1")); r.Owner != b.self.Owner || r.Epoch != 5 {
			t.Errorf("got %+v", r)
		}
		a.Forget(keyOf("1"), holder)
		synctest.Wait()
		if want := []core.CacheEventKind{core.CacheAdded, core.CacheHit, core.CacheEvicted}; !slices.Equal(kinds, want) {
			t.Errorf("got %v, want %v", kinds, want)
		}
		stop(t, a, b)
	})
}

// TestHandlerCallsDriver: the handler calls each method of the driver, and panics.
func TestHandlerCallsDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m *member
		ready := make(chan struct{})
		resolved := 0
		o := driver.Options{Events: func(e placement.Event) {
			<-ready
			if e.Kind != placement.Activated || e.Key.ID == "3" {
				return
			}
			m.Use(e.Key, e.Epoch)
			m.Tick(time.Now())
			m.Snapshot()
			m.Explain(e.Key)
			m.OnMemberLeft(placement.Owner{Name: "nobody", Incarnation: 1})
			m.Learn(e.Key, placement.Holder{})
			if err := m.UpdateTopology(topology(1, m)); err != nil {
				t.Error(err)
			}
			resolve(t, m, keyOf(fmt.Sprint(len(e.Key.ID)+1+resolved))) // active here, or not
			resolved++
			panic("boom")
		}}
		m = alone(t, newHome(t, memory.Options{}), &executor{}, o, core.Options{})
		close(ready)
		resolve(t, m, keyOf("1"))
		synctest.Wait()
		if resolved != 2 {
			t.Errorf("the handler resolved %d keys, want 2", resolved)
		}
		stop(t, m)
	})
}

// TestSlowHandler: a handler that hangs delays no resolve until the buffer is full, and then
// new resolves for as long as a command may take. No event is lost.
func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const buffer = 50
		hang := make(chan struct{})
		var j journal
		o := driver.Options{
			EventBuffer: buffer, CommandTimeout: 5 * time.Second,
			Events: func(e placement.Event) {
				<-hang
				j.record(e)
			},
		}
		m := alone(t, newHome(t, memory.Options{}), &executor{}, o, core.Options{})
		began := time.Now()
		resolves := 0
		for ; ; resolves++ {
			_, err := m.Resolve(t.Context(), keyOf("1"))
			if err != nil {
				if !errors.Is(err, placement.ErrOverloaded) || time.Since(began) != o.CommandTimeout {
					t.Errorf("after %v: got %v", time.Since(began), err)
				}
				break
			}
		}
		if resolves < buffer/2 || resolves > buffer {
			t.Errorf("%d resolves did not wait", resolves)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := m.Resolve(ctx, keyOf("1")); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, placement.ErrOverloaded) {
			t.Errorf("got %v", err)
		}
		cancel()
		if _, err := asyncResolve(m, keyOf("1")); !errors.Is(err, placement.ErrOverloaded) {
			t.Errorf("got %v", err)
		}
		var wait sync.WaitGroup
		wait.Go(func() { resolve(t, m, keyOf("2")) })
		time.Sleep(time.Second)
		close(hang)
		wait.Wait()
		stop(t, m)
		if err := m.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if got := j.count(placement.Resolved); got != resolves+1 || j.count(placement.Activated) != 2 || j.count(placement.Deactivated) != 2 {
			t.Errorf("%d Resolved, want %d; %d Activated", got, resolves+1, j.count(placement.Activated))
		}
	})
}

// TestHandlerResolvesWhenFull: a handler that resolves while the buffer is full does not wait
// for itself for ever.
func TestHandlerResolvesWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m *member
		ready := make(chan struct{})
		var failed []error
		o := driver.Options{EventBuffer: 1, CommandTimeout: time.Second, Events: func(e placement.Event) {
			<-ready
			if e.Kind == placement.Activated {
				_, err := m.Resolve(context.Background(), keyOf("1"))
				failed = append(failed, err)
			}
		}}
		m = newMember(t, "a", newHome(t, memory.Options{}), &executor{}, o, core.Options{})
		close(ready)
		start(t, 1, m)
		synctest.Wait()
		if _, err := asyncResolve(m, keyOf("1")); err != nil {
			t.Fatal(err)
		}
		if err := m.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if len(failed) != 1 || !errors.Is(failed[0], placement.ErrOverloaded) {
			t.Errorf("got %v", failed)
		}
		stop(t, m)
	})
}

// TestHandlerEndsItsGoroutine: a handler that calls runtime.Goexit gets the next event in another
// goroutine. Otherwise events would wait for ever, and resolves be refused.
func TestHandlerEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handled := make(map[string]int)
		m := alone(t, newHome(t, memory.Options{Kept: true}), new(executor), driver.Options{Events: func(e placement.Event) {
			if e.Kind != placement.Activated {
				return
			}
			if handled[e.Key.ID]++; e.Key.ID != "2" {
				runtime.Goexit()
			}
		}}, core.Options{})
		for id := range 5 {
			resolve(t, m, keyOf(fmt.Sprint(id)))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := m.Flush(ctx); err != nil || len(handled) != 5 {
			t.Errorf("the handler got %v, %v", handled, err)
		}
		stop(t, m)
	})
}
