// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLaggingClient has a clock that lags the provider's, so that leases begin in
// its future.
func TestLaggingClient(t *testing.T) {
	for _, test := range []struct {
		lag    time.Duration
		strict bool
		wait   time.Duration
		want   mode
	}{
		{lag: 3 * time.Millisecond, strict: true, wait: 3 * time.Millisecond, want: leased},
		{lag: 4 * time.Second, wait: 4 * time.Second, want: leased},
		{lag: time.Minute, want: random},
		{lag: time.Minute, strict: true, want: waiting},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, right := newSteppedClock(), newSteppedClock()
			k.step(-test.lag)
			g := newGrantor(right.now)
			c, end := managed(t, g, Options{DisableFallback: test.strict, MaxBackward: new(time.Duration(0))})
			defer end()
			c.clock.now = k.now
			c.clock.anchor.Add(-int64(test.lag))
			start := time.Now()
			id, err := c.Next(t.Context())
			if took := time.Since(start); took != test.wait {
				t.Errorf("%v late: Next took %v, want %v", test.lag, took, test.wait)
			}
			switch test.want {
			case waiting:
				if !errors.Is(err, ErrLeaseAcquisition) || !strings.Contains(err.Error(), "lags the provider") {
					t.Errorf("Next: %v, want an ErrLeaseAcquisition that names the clock", err)
				}
			default:
				if err != nil || id.IsFallback() != (test.want == random) {
					t.Errorf("Next = fallback %v, %v", id.IsFallback(), err)
				}
			}
			// In the long run it is leased all the time, its clock notwithstanding.
			last := id
			for range 400 {
				time.Sleep(6 * time.Second)
				id, err := c.Next(t.Context())
				if early := time.Since(start) < test.lag+time.Second; !early && (err != nil || id.IsFallback() || id <= last) {
					t.Fatalf("%v late, after %v: Next = %d (fallback %v), %v after %d", test.lag, time.Since(start), id, id.IsFallback(), err, last)
				}
				last = max(id, last)
			}
		})
	}
}

// TestLeadingClient has a clock ahead of the provider's. As long as leases last
// longer than that, IDs are leased.
func TestLeadingClient(t *testing.T) {
	for _, test := range []struct {
		ahead time.Duration
		want  mode
		most  int // requests in an hour
	}{
		{ahead: time.Minute, want: leased, most: 20},
		{ahead: 9 * time.Minute, want: leased, most: 400},
		{ahead: 11 * time.Minute, want: continued, most: 130},
		{ahead: 21 * time.Minute, want: random, most: 130},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, right := newSteppedClock(), newSteppedClock()
			k.step(test.ahead)
			g := newGrantor(right.now)
			c, end := managed(t, g, Options{Now: k.now})
			defer end()
			last := ID(0)
			for range 600 { // an hour
				id := Must(c.Next(t.Context()))
				got := leased
				switch pos := uint64(id) & (1<<21 - 1); {
				case id.IsFallback() && pos >= DefaultLayout().FallbackPositions():
					got = random
				case id.IsFallback():
					got = continued
				}
				if got != test.want || id <= last {
					t.Fatalf("%v ahead: ID %d is %v after %d, want %v", test.ahead, id, got, last, test.want)
				}
				last = id
				time.Sleep(6 * time.Second)
			}
			c.lock()
			if n := len(c.leases.leases); n > 25 {
				t.Errorf("%v ahead: %d leases are held, most of them of no use any more", test.ahead, n)
			}
			c.unlock()
			if n := len(g.requests()); n > test.most {
				t.Errorf("%v ahead: %d requests in an hour, want at most %d", test.ahead, n, test.most)
			}
		})
	}
}

// TestClientAheadByALease has a clock that is ahead by nearly as long as leases last:
// each is over soon after it came. The client does not take one after the other until
// none is left for others, and makes no random ID in between.
func TestClientAheadByALease(t *testing.T) {
	for _, life := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			k, right := newSteppedClock(), newSteppedClock()
			g := newGrantor(right.now)
			k.step(g.duration - life)
			c, end := managed(t, g, Options{Now: k.now})
			defer end()
			last := ID(0)
			for range 3600 {
				id := Must(c.Next(t.Context()))
				if random := id.IsFallback() && uint64(id)&(1<<21-1) >= DefaultLayout().FallbackPositions(); random || id <= last {
					t.Fatalf("%v: ID %d (random %v) after %d", life, id, random, last)
				}
				last = id
				time.Sleep(time.Second)
			}
			if n := len(g.requests()); n > 7*keepShare {
				t.Errorf("%v: %d requests in an hour, want at most %d", life, n, 7*keepShare)
			}
		})
	}
}

// TestReleasesOfASkewedClient: the provider refuses releases that were signed more than
// half a minute before or after its time, so they are signed by its clock.
func TestReleasesOfASkewedClient(t *testing.T) {
	for _, ahead := range []time.Duration{-2 * time.Minute, -time.Minute, 0, time.Minute, 9 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			k, right := newSteppedClock(), newSteppedClock()
			g := newGrantor(right.now)
			k.step(ahead)
			c, end := managed(t, g, Options{Now: k.now})
			defer end()
			for range 3600 {
				Must(c.Next(t.Context()))
				time.Sleep(time.Second)
			}
			m := c.Metrics()
			if asked, released := len(g.requests()), len(g.releases()); released < asked-2 || m.ReleaseFailures != 0 {
				t.Errorf("%v ahead: %d leases, %d of them given back, %d releases failed", ahead, asked, released, m.ReleaseFailures)
			}
		})
	}
}

// TestFallbackEndsAlsoForALaggingClient: the lease that comes after an outage
// begins a little in the client's future, or is there while its clock is not
// believed.
func TestFallbackEndsAlsoForALaggingClient(t *testing.T) {
	for _, lag := range []time.Duration{0, 40 * time.Millisecond, 2 * time.Second, time.Minute, -11 * time.Minute} {
		for _, outage := range []time.Duration{0, 15 * time.Minute, time.Hour} {
			for _, jump := range []time.Duration{0, time.Hour} {
				synctest.Test(t, func(t *testing.T) {
					k := newJumpyClock()
					g := newGrantor(k.right)
					c, end := managed(t, g, Options{Now: k.now, mono: k.mono})
					defer end()
					k.step(-lag)
					c.clock.init(c.opts)
					if outage > 0 {
						Must(c.Next(t.Context()))
					}
					g.set(func() { g.down = errDown })
					last := ID(0)
					for range 100 {
						time.Sleep(max(outage/100, 10*time.Millisecond))
						last = Must(c.Next(t.Context()))
					}
					if !last.IsFallback() {
						t.Fatal("no fallback in the outage")
					}
					g.set(func() { g.down = nil })
					k.step(jump)
					for end := time.Now().Add(time.Minute + max(lag, 0) + 5*time.Second); time.Now().Before(end); {
						time.Sleep(10 * time.Millisecond)
						last = Must(c.Next(t.Context()))
					}
					want := leased
					if lag < 0 {
						want = continued
					}
					got := leased
					switch pos := uint64(last) & (1<<21 - 1); {
					case last.IsFallback() && pos >= DefaultLayout().FallbackPositions():
						got = random
					case last.IsFallback():
						got = continued
					}
					if got != want {
						t.Errorf("%v late, outage of %v, jump of %v: the IDs are %v in the end, want %v", lag, outage, jump, got, want)
					}
				})
			}
		}
	}
}

// TestClockBefore1970 has a provider that is down and a clock before 1970: how long until the next lease, of which there is none, overflowed,
// and each caller waited five seconds for it.
func TestClockBefore1970(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		k.step(time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC).Sub(k.now()))
		g := newGrantor(k.now)
		g.down = errDown
		c, end := managed(t, g, Options{})
		defer end()
		start := time.Now()
		if id, err := c.Next(t.Context()); id != 0 || !errors.Is(err, ErrBeforeCustomEpoch) {
			t.Errorf("Next = %d, %v; want ErrBeforeCustomEpoch", id, err)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("Next took %v", took)
		}
	})
}
