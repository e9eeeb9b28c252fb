// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestShutdownReleasesWithTheLastTimestamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet, ServiceID: "s"}))
		var last ID
		for range 10 {
			last = Must(c.Next(t.Context()))
			time.Sleep(7 * time.Millisecond)
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Next: %v, want ErrClosed", err)
		}
		if n, err := c.NextN(t.Context(), make([]ID, 3)); n != 0 || !errors.Is(err, ErrClosed) {
			t.Errorf("NextN = %d, %v; want ErrClosed", n, err)
		}
		if err := c.Ready(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Ready: %v, want ErrClosed", err)
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Errorf("second Shutdown: %v", err)
		}
		c.AfterRestore()
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Next after AfterRestore: %v, want ErrClosed", err)
		}
		r := g.releases()
		if len(r) != 1 || r[0].LastTs != last.Time().UnixMilli() || r[0].ServiceID != "s" {
			t.Errorf("releases %+v, want one with last timestamp %d", r, last.Time().UnixMilli())
		}
		if m := c.Metrics(); m.LeasedIDs != 10 || m.Releases != 1 || m.ActiveLeases != 0 {
			t.Errorf("metrics %+v, want 10 IDs, 1 release, no lease", m)
		}
	})
}

// TestSuccessorBeginsBehindARelease lets the next holder have the same machine
// id at once, in the same millisecond: its IDs are greater.
func TestSuccessorBeginsBehindARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		last := ID(0)
		for range 100 {
			g.next = 5
			c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet}))
			for range 3 {
				id := Must(c.Next(t.Context()))
				if id.MachineID() != 5 || id <= last {
					t.Fatalf("ID %d of machine %d after %d", id, id.MachineID(), last)
				}
				last = id
			}
			if err := c.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestShutdownWhenTheProviderIsGone(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			g := newGrantor(k.now)
			c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet}))
			Must(c.Next(t.Context()))
			g.set(func() { g.down = errDown })
			if hang {
				g.latency = time.Hour
			}
			start := time.Now()
			err := c.Shutdown(t.Context())
			if want := errDown; !hang && !errors.Is(err, want) {
				t.Errorf("Shutdown: %v, want %v", err, want)
			}
			if took := time.Since(start); hang && (!errors.Is(err, context.DeadlineExceeded) || took != releaseTimeout) {
				t.Errorf("Shutdown: %v after %v", err, took)
			}
			if m := c.Metrics(); m.ReleaseFailures != 1 {
				t.Errorf("metrics %+v, want one failed release", m)
			}
		})
	}
}

// TestShutdownDuringAnAcquisition: what the provider has granted goes back, although
// its answer comes after the shutdown.
func TestShutdownDuringAnAcquisition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.delay = lastAnswer / 2
		c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet}))
		go c.Ready(t.Context()) //nolint:errcheck // it starts the request
		time.Sleep(time.Millisecond)
		if err := c.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if granted, released := len(g.byKey), len(g.releases()); granted != 1 || released != 1 {
			t.Errorf("%d leases were granted, %d given back", granted, released)
		}
		hanging := newGrantor(k.now)
		hanging.hang = true
		c = Must(NewClient(Options{Provider: hanging, Now: k.now, Logger: quiet}))
		go c.Ready(t.Context()) //nolint:errcheck // it starts the request
		time.Sleep(time.Millisecond)
		start := time.Now()
		if err := c.Shutdown(t.Context()); err != nil || time.Since(start) != lastAnswer {
			t.Errorf("Shutdown with a provider that does not answer: %v after %v", err, time.Since(start))
		}
	})
}

// TestShutdownAgain: what the first call could not give back, the next one does.
func TestShutdownAgain(t *testing.T) {
	for name, first := range map[string]func(*grantor, *Client) error{
		"the provider was away": func(g *grantor, c *Client) error {
			g.set(func() { g.down = errDown })
			defer g.set(func() { g.down = nil })
			return c.Shutdown(context.Background())
		},
		"there was no time": func(g *grantor, c *Client) error {
			g.set(func() { g.latency = time.Second })
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			return c.Shutdown(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newSteppedClock()
				g := newGrantor(k.now)
				c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet}))
				Must(c.Next(t.Context()))
				if err := first(g, c); err == nil || len(g.releases()) != 0 {
					t.Fatalf("the first Shutdown: %v, %d releases; want an error", err, len(g.releases()))
				}
				for range 2 {
					if err := c.Shutdown(t.Context()); err != nil || len(g.releases()) != 1 {
						t.Errorf("the next Shutdown: %v, %d releases; want one", err, len(g.releases()))
					}
				}
			})
		})
	}
}

func TestShutdownEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.hang = true
		c := Must(NewClient(Options{Provider: g, Now: k.now, Logger: quiet}))
		got := make(chan error)
		go func() {
			_, err := c.Next(t.Context())
			got <- err
		}()
		time.Sleep(time.Second)
		if err := c.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Errorf("Next: %v, want ErrClosed", err)
		}
	})
	c := Must(NewClient(Options{}))
	if err := c.Shutdown(ended); err != nil {
		t.Errorf("Shutdown in standalone mode: %v", err)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next in standalone mode: %v, want ErrClosed", err)
	}
}

// TestLostReplyIsAskedForAgain: with the same key, so that no lease is lost.
func TestLostReplyIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.lose = 3
		c, end := managed(t, g, Options{DisableFallback: true})
		defer end()
		var id ID
		for id == 0 {
			id, _ = c.Next(ended)
			time.Sleep(100 * time.Millisecond)
		}
		req := g.requests()
		if len(req) != 4 || len(g.byKey) != 1 || id.MachineID() != 0 {
			t.Errorf("%d requests with %d keys, ID of machine %d; want 4 with one key, machine 0", len(req), len(g.byKey), id.MachineID())
		}
	})
}

func TestCallsOfTheProviderHaveADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.hang = true
		c, end := managed(t, g, Options{})
		defer end()
		start := time.Now()
		if id := Must(c.Next(t.Context())); !id.IsFallback() || time.Since(start) != acquireTimeout {
			t.Errorf("ID (fallback %v) after %v, want a fallback ID after %v", id.IsFallback(), time.Since(start), acquireTimeout)
		}
	})
}

// TestImpatientCallerFallsBack: a caller gets a fallback ID if its context ends while it
// waits for the first lease; others go on waiting for the lease.
func TestImpatientCallerFallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.latency = 3 * time.Second
		c, end := managed(t, g, Options{})
		defer end()
		patient := make(chan ID)
		go func() { patient <- Must(c.Next(t.Context())) }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		id, err := c.Next(ctx)
		if err != nil || !id.IsFallback() {
			t.Errorf("Next = %d (fallback %v), %v; want a fallback ID", id, id.IsFallback(), err)
		}
		if later := <-patient; later.IsFallback() || later <= id {
			t.Errorf("the patient caller got %d (fallback %v), want a leased ID above %d", later, later.IsFallback(), id)
		}
		waits, end := managed(t, g, Options{FallbackAfterFailure: true})
		defer end()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if id, err := waits.Next(ctx); id != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next before a failure = %d, %v; want DeadlineExceeded", id, err)
		}
		if id, err := waits.Next(t.Context()); err != nil || id.IsFallback() {
			t.Errorf("Next of a caller that waits = %d (fallback %v), %v; want a leased ID", id, id.IsFallback(), err)
		}
		strict, end := managed(t, g, Options{DisableFallback: true})
		defer end()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if id, err := strict.Next(ctx); id != 0 || !errors.Is(err, ErrLeaseAcquisition) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next of a strict client = %d, %v; want an ErrLeaseAcquisition and DeadlineExceeded", id, err)
		}
		if _, err := strict.Next(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Next with an ended context: %v, want its cause", err)
		}
	})
}

// TestDeafProvider: a call that lasts longer than it may has failed, although it has not returned. A
// caller that gives up then gets a fallback ID, before only an error.
func TestDeafProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrantor(newSteppedClock().now)
		g.deaf = make(chan struct{})
		c, end := managed(t, g, Options{FallbackAfterFailure: true})
		defer end()
		defer close(g.deaf)
		for _, failed := range []bool{false, true} {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			id, err := c.Next(ctx)
			if failed != (err == nil && id.IsFallback()) {
				t.Errorf("Next = %d (fallback %v), %v, want an error at first, and then a fallback ID", id, id.IsFallback(), err)
			}
		}
	})
}

func TestNewIDOfAManagedClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.latency = 100 * time.Millisecond
		c, end := managed(t, g, Options{})
		defer end()
		if id := newDefaults(c).newID(); id == 0 || id.IsFallback() {
			t.Errorf("newID = %d (fallback %v), want a leased ID", id, id.IsFallback())
		}
		slow := newGrantor(k.now)
		slow.hang = true
		c2, end2 := managed(t, slow, Options{})
		defer end2()
		if id := newDefaults(c2).newID(); !id.IsFallback() {
			t.Errorf("newID = %d of a provider that hangs, want a fallback ID", id)
		}
	})
}

// TestReplyAfterAPause has the reply to a renewal come when the lease that it brings is
// over, as in a process that was stopped: the client asks again at once, and calls wait
// for that, rather than make random IDs.
func TestReplyAfterAPause(t *testing.T) {
	for _, pause := range []time.Duration{3 * time.Second, 7 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			g := newGrantor(k.now)
			g.duration = 2 * time.Second
			c, end := managed(t, g, Options{})
			defer end()
			Must(c.Next(t.Context()))
			g.set(func() { g.delay = pause }) // in one case beyond the deadline of the call
			for range 1000 {
				time.Sleep(10 * time.Millisecond)
				if id := Must(c.Next(t.Context())); id.IsFallback() && uint64(id)&(1<<21-1) >= DefaultLayout().FallbackPositions() {
					t.Fatalf("ID %d is random, although the provider answers", id)
				}
			}
			if m := c.Metrics(); m.AcquireFailures != 0 {
				t.Errorf("metrics %+v, want no failure", m)
			}
		})
	}
}

// TestLateRepliesAreFailures: a provider that always takes longer than its leases last
// does not keep callers waiting.
func TestLateRepliesAreFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.duration = time.Second
		c := Must(NewClient(Options{Provider: lateGrantor{g}, Now: k.now, Logger: quiet}))
		defer c.Shutdown(context.Background())
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			start := time.Now()
			Must(c.Next(ctx))
			if took := time.Since(start); took > 4*time.Second {
				t.Errorf("a call took %v, want two replies at most", took)
			}
			cancel()
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// lateGrantor answers when the leases that it has granted are over.
type lateGrantor struct{ *grantor }

func (g lateGrantor) Acquire(ctx context.Context, req AcquireRequest) ([]Lease, error) {
	leases, err := g.grantor.Acquire(ctx, req)
	time.Sleep(2 * g.duration)
	return leases, err
}
