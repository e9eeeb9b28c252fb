// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// clock is a clock that tests set.
type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// parts divides an ID of the layout of leases.
func parts(id int64) (at time.Time, worker, sequence int64) {
	return base.Add(time.Duration(id>>22) * time.Millisecond), id >> 12 & 1023, id & 4095
}

// snowflakes runs a test of a handle with a clock and a service that the test controls.
func snowflakes(t *testing.T, o client.Options, test func(t *testing.T, h *client.Snowflake, l *leases, c *clock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, c := newLeases(time.Now), &clock{}
		o.Now = c.now
		test(t, fakeClient(t, o, l.serve).Snowflake("k"), l, c)
	})
}

// TestCloseReleases: Close releases the worker id of each snowflake key with the last lease key, once, and ends
// after Timeout where the service does not answer.
func TestCloseReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var released []string
		l, silent := newLeases(time.Now), false
		c := fakeClient(t, client.Options{Timeout: 3 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodDelete {
				l.serve(w, r)
				return
			}
			mu.Lock()
			released = append(released, r.URL.Path+"?"+r.URL.RawQuery)
			mu.Unlock()
			if silent {
				<-r.Context().Done()
			}
			answer(w, nil)
		})
		_ = c.Snowflake("unused")
		make1(t, c.Snowflake("a"))
		make1(t, c.Snowflake("b"))
		time.Sleep(15 * time.Second) // the leases are renewed
		silent = true
		begun := time.Now()
		c.Close()
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("Close took %v", took)
		}
		slices.Sort(released)
		if want := []string{"/v1/id/snowflake?key=a&lease_key=lease-0", "/v1/id/snowflake?key=b&lease_key=lease-1"}; !slices.Equal(released, want) {
			t.Errorf("released are %v, want %v", released, want)
		}
		c.Close()
		if _, err := c.Snowflake("a").Next(t.Context()); len(released) != 2 || err != client.ErrClosed {
			t.Errorf("after a second Close: %v, %v", released, err)
		}
	})
}

func make1(t *testing.T, h *client.Snowflake) int64 {
	t.Helper()
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestSnowflake: IDs have the time, the leased worker id and a sequence that never exceeds the
// numbers of a millisecond.
func TestSnowflake(t *testing.T) {
	snowflakes(t, client.Options{}, func(t *testing.T, h *client.Snowflake, l *leases, _ *clock) {
		l.free = 77
		begun, last := time.Now(), int64(0)
		ids := make([]int64, 10_000)
		if n, err := h.NextN(t.Context(), ids); n != len(ids) || err != nil {
			t.Fatal(n, err)
		}
		for i, id := range ids {
			at, worker, sequence := parts(id)
			if want := begun.Add(time.Duration(i/4096) * time.Millisecond); id <= last || !at.Equal(want) || worker != 77 || sequence != int64(i%4096) {
				t.Fatalf("ID %d is %d after %d: %v, worker %d, sequence %d", i, id, last, at, worker, sequence)
			}
			last = id
		}
		if asked := l.requestedKeys(); len(asked) != 1 || asked[0] != "key=k&renews=true" {
			t.Errorf("the requests were %v", asked)
		}
		if held, ok := h.Lease(); held.WorkerID != 77 || !held.Start.Equal(begun) || !held.Expires.Equal(begun.Add(30*time.Second)) || !ok {
			t.Error(held, ok)
		}
	})
}

// TestRenewal: the handle renews the lease after a third of its duration, with its key, even if no
// IDs are made. No call for an ID waits for that.
func TestRenewal(t *testing.T) {
	snowflakes(t, client.Options{}, func(t *testing.T, h *client.Snowflake, l *leases, _ *clock) {
		make1(t, h)
		for i := 1; i <= 5; i++ {
			time.Sleep(9999 * time.Millisecond)
			if synctest.Wait(); len(l.requestedKeys()) != i {
				t.Fatalf("before %d thirds have passed, the requests were %v", i, l.requestedKeys())
			}
			time.Sleep(time.Millisecond)
			if synctest.Wait(); len(l.requestedKeys()) != i+1 || l.requestedKeys()[i] != "key=k&lease_key=lease-0" {
				t.Fatalf("after %d thirds, the requests were %v", i, l.requestedKeys())
			}
		}
		if _, worker, _ := parts(make1(t, h)); worker != 0 {
			t.Error(worker)
		}
	})
}

// TestExpiry: while the service is down, the handle makes IDs until the millisecond in which the
// lease ends. When the service is up again, it makes IDs with a new lease.
func TestExpiry(t *testing.T) {
	snowflakes(t, client.Options{Retry: client.Retry{Attempts: 2}}, func(t *testing.T, h *client.Snowflake, l *leases, _ *clock) {
		make1(t, h)
		held, _ := h.Lease()
		l.change(func() { l.down = true })
		time.Sleep(time.Until(held.Expires) - time.Millisecond)
		synctest.Wait()
		last := make1(t, h)
		if at, _, _ := parts(last); !at.Equal(held.Expires.Add(-time.Millisecond)) {
			t.Errorf("an ID is of %v", at)
		}
		asked := len(l.requestedKeys())
		time.Sleep(time.Millisecond)
		if time.Sleep(time.Hour); len(l.requestedKeys()) > asked+4 {
			t.Errorf("after the lease has ended, and without a call, the requests went on: %d", len(l.requestedKeys()))
		}
		id, err := h.Next(t.Context())
		if !errors.Is(err, client.ErrLease) || !strings.Contains(err.Error(), " since "+held.Expires.UTC().Format(time.RFC3339Nano)+":") {
			t.Errorf("after the end of the lease: %d, %v", id, err)
		}
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Code != api.Unavailable {
			t.Errorf("%v does not say why there is no other lease", err)
		}
		l.change(func() { l.down, l.held = false, map[string]int64{} }) // the lease was given to another client
		if _, worker, _ := parts(make1(t, h)); worker != 1 {
			t.Errorf("after the lease was lost, the worker id is %d", worker)
		}
	})
}

// TestLeaseIsLost: after a renewal with a lower worker id, the next ID is still greater than the
// last.
func TestLeaseIsLost(t *testing.T) {
	snowflakes(t, client.Options{}, func(t *testing.T, h *client.Snowflake, l *leases, c *clock) {
		l.free = 500
		make1(t, h)
		l.change(func() { l.held, l.free = map[string]int64{}, 3 })
		c.add(9 * time.Second)
		time.Sleep(10*time.Second - time.Nanosecond)
		last := make1(t, h)
		time.Sleep(time.Nanosecond)
		c.add(-time.Nanosecond) // the same millisecond still
		synctest.Wait()
		id := make1(t, h)
		if _, worker, _ := parts(id); worker != 3 || id <= last {
			t.Errorf("after %d the ID is %d, of worker %d", last, id, worker)
		}
	})
}

// TestLeaseBegins: no ID has a timestamp before the lease, even if the clock is
// behind the service's.
func TestLeaseBegins(t *testing.T) {
	snowflakes(t, client.Options{}, func(t *testing.T, h *client.Snowflake, _ *leases, c *clock) {
		begun := time.Now()
		c.add(-2 * time.Second)
		at, _, _ := parts(make1(t, h))
		if at.Before(begun) || time.Since(begun) != 2*time.Second {
			t.Errorf("an ID is of %v, made after %v", at, time.Since(begun))
		}
	})
}

// TestClockBackward: the handle waits for a clock that was set back a little; if it was set back
// further, the error says by how much.
func TestClockBackward(t *testing.T) {
	snowflakes(t, client.Options{MaxBackward: 3 * time.Second}, func(t *testing.T, h *client.Snowflake, _ *leases, c *clock) {
		make1(t, h)
		time.Sleep(5 * time.Second) // so that the clock stays within the lease
		last, begun := make1(t, h), time.Now()
		c.add(-3 * time.Second)
		if id := make1(t, h); id <= last || time.Since(begun) != 3*time.Second {
			t.Errorf("after %d: %d, after %v", last, id, time.Since(begun))
		}
		c.add(-4 * time.Second)
		if id, err := h.Next(t.Context()); !errors.Is(err, client.ErrClock) || !strings.Contains(err.Error(), "behind by 4s") {
			t.Errorf("the clock is 4 s behind: %d, %v", id, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c.add(2 * time.Second)
		if id, err := h.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the context ends before the clock has caught up: %d, %v", id, err)
		}
	})
}

// TestClockAhead: the handle makes no ID while the clock is beyond each lease. A call asks for one
// lease only: the next one would not cover the clock either.
func TestClockAhead(t *testing.T) {
	snowflakes(t, client.Options{}, func(t *testing.T, h *client.Snowflake, l *leases, c *clock) {
		c.add(time.Hour)
		id, err := h.Next(t.Context())
		synctest.Wait()
		if !errors.Is(err, client.ErrLease) || !strings.Contains(err.Error(), "ahead") || len(l.requestedKeys()) != 1 {
			t.Errorf("an hour ahead: %d, %v, after %v", id, err, l.requestedKeys())
		}
		c.add(-time.Hour)
		make1(t, h)
	})
}

// TestLeaseKeyIsRefused: the handle stops sending a lease key that the service does not accept.
func TestLeaseKeyIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLeases(time.Now)
		h := fakeClient(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("lease_key") {
				l.change(func() { l.queries = append(l.queries, "refused") })
				refuse(w, 400, api.Invalid)
				return
			}
			l.serve(w, r)
		}).Snowflake("k")
		make1(t, h)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		if asked := strings.Join(l.requestedKeys(), " "); asked != "key=k&renews=true refused key=k&renews=true refused key=k&renews=true" {
			t.Errorf("the requests were %s", asked)
		}
	})
}

// TestEndOfTimestamps: no ID has a timestamp that does not fit into its bits, whatever
// the lease says.
func TestEndOfTimestamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UnixMilli()
		s := api.Snowflake{
			SkipSize: 7, BaseTS: now - 1<<41 + 3, TSSize: 41, WorkerIDSize: 10, SeqSize: 6,
			LeaseKey: "k", LeaseDuration: 30, LeaseStart: now, LeaseExpires: now + 30_000,
		}
		h := fakeClient(t, client.Options{}, func(w http.ResponseWriter, _ *http.Request) { answer(w, s) }).Snowflake("k")
		ids := make([]int64, 1000)
		n, err := h.NextN(t.Context(), ids)
		if !errors.Is(err, client.ErrLease) || n != 3<<6 || ids[n-1]>>16 != 1<<41-1 {
			t.Errorf("there are %d IDs up to %x, %v", n, ids[max(n-1, 0)], err)
		}
	})
}

// TestBadLeases: the handle makes no ID after an answer without a lease, or with an impossible
// division of the bits.
func TestBadLeases(t *testing.T) {
	good := api.Snowflake{
		SkipSize: 1, BaseTS: base.UnixMilli(), TSSize: 41, WorkerID: 1, WorkerIDSize: 10, SeqSize: 12,
		LeaseKey: "k", LeaseDuration: 30, LeaseStart: base.UnixMilli(), LeaseExpires: base.UnixMilli() + 1<<41,
	}
	for name, spoil := range map[string]func(s *api.Snowflake){
		"":                       func(*api.Snowflake) {},
		"the deployed worker's":  func(s *api.Snowflake) { s.LeaseKey, s.LeaseDuration, s.LeaseStart, s.LeaseExpires = "", 0, 0, 0 },
		"63 bits":                func(s *api.Snowflake) { s.SkipSize = 0 },
		"a worker id too large":  func(s *api.Snowflake) { s.WorkerID = 1024 },
		"a negative worker id":   func(s *api.Snowflake) { s.WorkerID = -1 },
		"an end before begin":    func(s *api.Snowflake) { s.LeaseExpires = s.LeaseStart },
		"no time for timestamps": func(s *api.Snowflake) { s.LeaseStart, s.LeaseExpires = s.LeaseStart+1<<41, s.LeaseExpires+1 },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := good
			spoil(&s)
			h := fakeClient(t, client.Options{Retry: client.Retry{Attempts: 1}}, func(w http.ResponseWriter, _ *http.Request) { answer(w, s) }).Snowflake("k")
			if id, err := h.Next(t.Context()); (err == nil) != (name == "") {
				t.Errorf("%s: %d, %v", name, id, err)
			}
		})
	}
}
