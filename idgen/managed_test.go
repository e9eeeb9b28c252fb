// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// ended is a context that waits for nothing.
var ended = noWait

func TestManagedIDsLieInTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.next, g.latency = 77, 30*time.Millisecond
		c, end := managed(t, g, Options{ServiceID: "orders", Meta: map[string]string{"a": "b"}})
		defer end()
		if n := len(g.requests()); n != 0 {
			t.Errorf("%d requests before the first ID, want none", n)
		}
		start := time.Now()
		for i := range 256 {
			id := Must(c.Next(t.Context()))
			if id.MachineID() != 77 || id.Sequence() != i || id.IsFallback() {
				t.Fatalf("ID %d is of machine %d, sequence %d, fallback %v", i, id.MachineID(), id.Sequence(), id.IsFallback())
			}
			if d := k.now().Sub(id.Time()); d < 0 || d >= time.Millisecond {
				t.Fatalf("ID %d is of %v, now is %v", i, id.Time(), k.now())
			}
		}
		if took := time.Since(start); took != g.latency {
			t.Errorf("256 IDs took %v, want the %v of the first lease", took, g.latency)
		}
		req := g.requests()
		if len(req) != 1 || req[0].ServiceID != "orders" || req[0].Meta["a"] != "b" || req[0].Throughput != 256 || req[0].RequestKey == "" {
			t.Errorf("requests %+v, want one for 256 with service, meta and key", req)
		}
	})
}

// TestLeaseOverByTheClientsClock has a clock without a monotonic part, which goes
// ahead by more than a lease: the client asks the provider at once, not when half
// of the lease is over by the keeper's timer, and calls wait for the answer.
func TestLeaseOverByTheClientsClock(t *testing.T) {
	for _, strict := range []bool{false, true} {
		for _, ready := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				k := newSteppedClock()
				g := newGrantor(k.now)
				g.latency = 30 * time.Millisecond
				c, end := managed(t, g, Options{DisableFallback: strict})
				defer end()
				last := Must(c.Next(t.Context()))
				for round := range 5 {
					time.Sleep(g.duration / keepShare) // the least time between two requests
					k.step(11*time.Minute + time.Duration(round)*time.Hour)
					start := time.Now()
					if ready {
						if err := c.Ready(t.Context()); err != nil {
							t.Errorf("strict %v: Ready: %v", strict, err)
						}
					}
					id, err := c.Next(t.Context())
					if err != nil || id.IsFallback() || id <= last || time.Since(start) != g.latency {
						t.Errorf("strict %v: Next = %d, fallback %v, %v after %v; want a leased ID above %d after %v", strict, id, id.IsFallback(), err, time.Since(start), last, g.latency)
					}
					last = id
				}
				if n := len(g.requests()); n != 6 {
					t.Errorf("strict %v: %d requests, want 6", strict, n)
				}
			})
		}
	}
}

// TestOutageWhenALeaseIsOverByTheClientsClock: calls wait for one try, then fall
// back or fail at once, with the cause.
func TestOutageWhenALeaseIsOverByTheClientsClock(t *testing.T) {
	for _, strict := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			g := newGrantor(k.now)
			c, end := managed(t, g, Options{DisableFallback: strict})
			defer end()
			Must(c.Next(t.Context()))
			time.Sleep(g.duration / keepShare)
			k.step(11 * time.Minute)
			g.set(func() { g.hang = true })
			id, err := c.Next(ended)
			if strict && (!errors.Is(err, ErrLeaseAcquisition) || !errors.Is(err, errLeasesOver)) || !strict && (err != nil || !id.IsFallback()) {
				t.Errorf("strict %v: Next = %d, %v; want an error that says that there were leases, or a fallback ID", strict, id, err)
			}
			start := time.Now()
			for range 3 {
				id, err = c.Next(t.Context())
				if strict && (!errors.Is(err, ErrLeaseAcquisition) || !errors.Is(err, context.DeadlineExceeded)) || !strict && (err != nil || !id.IsFallback()) {
					t.Errorf("strict %v: Next = %d, %v; want the provider's error or a fallback ID", strict, id, err)
				}
			}
			if took := time.Since(start); strict && took != acquireTimeout || !strict && took != 0 {
				t.Errorf("strict %v: three calls took %v", strict, took)
			}
		})
	}
}

func TestFirstLeaseIsAcquiredOnceForAllCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.latency = time.Second
		c, end := managed(t, g, Options{})
		defer end()
		got := make(chan ID, 50)
		for range cap(got) {
			go func() { got <- Must(c.Next(t.Context())) }()
		}
		seen := map[ID]bool{}
		for range cap(got) {
			seen[<-got] = true
		}
		if len(seen) != cap(got) || len(g.requests()) != 1 {
			t.Errorf("%d distinct IDs of %d, %d requests; want one request", len(seen), cap(got), len(g.requests()))
		}
	})
}

func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.latency = time.Second
		c, end := managed(t, g, Options{})
		defer end()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := c.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ready with little time: %v, want DeadlineExceeded", err)
		}
		if err := c.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v", err)
		}
		if id, err := c.Next(ended); err != nil || id.IsFallback() {
			t.Errorf("Next after Ready = %v, %v; want a leased ID without waiting", id, err)
		}
		if err := Must(NewClient(Options{})).Ready(ended); err != nil {
			t.Errorf("Ready in standalone mode: %v", err)
		}
	})
}

// TestLeasesAreRenewedAtHalfTheirLife watches a client over many leases: IDs
// ascend and never wait, each lease is asked for when about half of the last
// one's life is over, and the last one goes back with its last millisecond.
func TestLeasesAreRenewedAtHalfTheirLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.latency = 20 * time.Millisecond
		c, end := managed(t, g, Options{})
		defer end()
		last := Must(c.Next(t.Context()))
		lastOf := map[int64]int64{int64(last.MachineID()): last.Time().UnixMilli()}
		for range 20_000 { // two hours
			time.Sleep(370 * time.Millisecond)
			id, err := c.Next(ended)
			if err != nil || id <= last || id.IsFallback() {
				t.Fatalf("Next = %d (fallback %v), %v after %d; want more, leased, at once", id, id.IsFallback(), err, last)
			}
			last = id
			lastOf[int64(id.MachineID())] = id.Time().UnixMilli()
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if n := len(g.asked); n < 15 || n > 40 {
			t.Errorf("%d leases in two hours, want about 24", n)
		}
		gaps := map[time.Duration]bool{}
		keys := map[string]bool{}
		for i := range g.asked {
			keys[g.asked[i].RequestKey] = true
			if i == 0 {
				continue
			}
			if before := g.byKey[g.asked[i-1].RequestKey][0]; !slices.Equal(g.asked[i].Replaces, []LeaseRef{before.Ref()}) {
				t.Errorf("request %d replaces %+v, want %+v", i, g.asked[i].Replaces, before.Ref())
			}
			gap := g.askedAt[i].Sub(g.askedAt[i-1])
			gaps[gap.Round(time.Second)] = true
			if gap < g.duration*38/100 || gap > g.duration*62/100 {
				t.Errorf("lease %d was asked for after %v of %v", i, gap, g.duration)
			}
		}
		if len(gaps) < 5 || len(keys) != len(g.asked) {
			t.Errorf("%d different gaps, %d keys of %d requests; want jitter, and a key for each", len(gaps), len(keys), len(g.asked))
		}
		if len(g.released) != len(g.asked)-1 {
			t.Errorf("%d releases of %d leases, want all but the last", len(g.released), len(g.asked))
		}
		for _, r := range g.released {
			if r.LastTs != lastOf[r.ID] {
				t.Errorf("machine %d was released with last timestamp %d, want %d", r.ID, r.LastTs, lastOf[r.ID])
			}
		}
	})
}

func TestProviderDownFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.down, g.latency = errDown, 10*time.Millisecond
		c, end := managed(t, g, Options{})
		defer end()
		last := ID(0)
		start := time.Now()
		for range 2000 {
			id := Must(c.Next(t.Context()))
			if pos := uint64(id) & (1<<21 - 1); id <= last || !id.IsFallback() || pos < DefaultLayout().FallbackPositions() {
				t.Fatalf("ID %d, position %d, after %d; want more, in the top quarter of fallback", id, pos, last)
			}
			last = id
			time.Sleep(100 * time.Millisecond)
		}
		if err := c.Ready(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("Ready: %v, want %v", err, errDown)
		}
		g.mu.Lock()
		want := time.Second
		for i, at := range g.askedAt[1:] {
			gap := at.Sub(g.askedAt[i]) - g.latency
			if gap < want/2 || gap > want {
				t.Errorf("try %d came %v after the last, want %v to %v", i+2, gap, want/2, want)
			}
			want = min(2*want, time.Minute)
		}
		if n := len(g.askedAt); n < 7 || time.Since(start) < 3*time.Minute {
			t.Errorf("%d tries in %v", n, time.Since(start))
		}
		for _, r := range g.asked {
			if r.RequestKey != g.asked[0].RequestKey {
				t.Error("tries of one request have different keys")
			}
		}
		g.down = nil
		g.mu.Unlock()
		time.Sleep(time.Minute)
		if id := Must(c.Next(ended)); id <= last || id.IsFallback() {
			t.Errorf("ID %d (fallback %v) a minute after the provider is back, want a leased one above %d", id, id.IsFallback(), last)
		}
	})
}

// TestExpiredLeaseIsContinued goes through an outage: leased IDs until the
// lease ends, then its positions with the fallback bit for as long again, then
// random ones of the quarter that no lease is continued in.
func TestExpiredLeaseIsContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.next = 4000
		c, end := managed(t, g, Options{})
		defer end()
		last := Must(c.Next(t.Context()))
		g.set(func() { g.down = errDown })
		lease := g.blocks[4000].lease
		var seen []mode
		for range 3000 { // 25 minutes
			time.Sleep(500 * time.Millisecond)
			id := Must(c.Next(ended))
			if id <= last {
				t.Fatalf("ID %d after %d", id, last)
			}
			last = id
			m, ms := leased, id.Time().UnixMilli()
			switch pos := uint64(id) & (1<<21 - 1); {
			case id.IsFallback() && pos >= DefaultLayout().FallbackPositions():
				m = random
			case id.IsFallback():
				m = continued
			}
			if len(seen) == 0 || seen[len(seen)-1] != m {
				seen = append(seen, m)
			}
			want := leased
			if ms >= lease.Expired {
				want = continued
			}
			if ms >= lease.Expired+lease.Expired-lease.Created {
				want = random
			}
			if m != want || m != random && uint64(id)&(1<<21-1)>>8 != 4000 {
				t.Fatalf("at %d ms of the lease: %v, machine %d; want %v of 4000", ms-lease.Created, m, id.MachineID(), want)
			}
		}
		if want := []mode{leased, continued, random}; !slices.Equal(seen, want) {
			t.Errorf("modes %v, want %v", seen, want)
		}
		g.set(func() { g.down = nil })
		time.Sleep(time.Minute)
		if id := Must(c.Next(ended)); id <= last || id.IsFallback() {
			t.Errorf("ID %d (fallback %v) after the outage", id, id.IsFallback())
		}
	})
}

func TestStrictClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.down, g.latency = errDown, time.Second
		c, end := managed(t, g, Options{DisableFallback: true, MaxBackward: new(time.Duration(0))})
		defer end()
		for range 3 {
			id, err := c.Next(t.Context())
			if !errors.Is(err, ErrLeaseAcquisition) || !errors.Is(err, errDown) || id != 0 {
				t.Fatalf("Next = %d, %v; want 0 and an ErrLeaseAcquisition of %v", id, err, errDown)
			}
		}
		g.set(func() { g.down = nil })
		time.Sleep(5 * time.Second)
		last := Must(c.Next(ended))
		g.set(func() { g.down = errDown })
		time.Sleep(9 * time.Minute)
		if id := Must(c.Next(ended)); id <= last || id.IsFallback() {
			t.Errorf("ID %d (fallback %v) within the lease", id, id.IsFallback())
		}
		time.Sleep(2 * time.Minute)
		id, err := c.Next(t.Context())
		if !errors.Is(err, ErrLeaseAcquisition) || !errors.Is(err, errDown) || id != 0 {
			t.Errorf("Next after the lease = %d, %v; want an ErrLeaseAcquisition", id, err)
		}
	})
}

// TestLeaseOfTheUpperQuarterIsNotContinued: random fallback IDs of other clients
// lie there.
func TestLeaseOfTheUpperQuarterIsNotContinued(t *testing.T) {
	for machine, want := range map[int64]bool{0: true, 6143: true, 6144: false, 8191: false} {
		synctest.Test(t, func(t *testing.T) {
			k := newSteppedClock()
			g := newGrantor(k.now)
			g.next = machine
			c, end := managed(t, g, Options{})
			defer end()
			Must(c.Next(t.Context()))
			g.set(func() { g.down = errDown })
			time.Sleep(11 * time.Minute)
			own := 0
			for range 100 {
				id := Must(c.Next(ended))
				if !id.IsFallback() {
					t.Fatalf("machine %d: ID %d is leased", machine, id)
				}
				if int64(id.MachineID()-8192) == machine {
					own++
				}
				time.Sleep(time.Millisecond)
			}
			if want && own != 100 || !want && own > 50 {
				t.Errorf("machine %d: %d of 100 fallback IDs are its own, want all: %v", machine, own, want)
			}
		})
	}
}

// TestReleasedLeaseIsNotContinued: its next holder may be continuing it.
func TestReleasedLeaseIsNotContinued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		c, end := managed(t, g, Options{})
		defer end()
		first := Must(c.Next(t.Context())).MachineID()
		time.Sleep(7 * time.Minute)
		second := Must(c.Next(t.Context())).MachineID()
		if len(g.releases()) != 1 || first == second {
			t.Fatalf("machines %d and %d, %d releases; want the first one released", first, second, len(g.releases()))
		}
		g.set(func() { g.down = errDown })
		for range 300 {
			time.Sleep(5 * time.Second)
			if id := Must(c.Next(ended)); id.MachineID()&8191 == first {
				t.Fatalf("ID of machine %d, fallback %v, after its release", first, id.IsFallback())
			}
		}
	})
}
