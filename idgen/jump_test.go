// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// jumpyClock is a steppedClock with a monotonic clock that does not step with it.
type jumpyClock struct {
	begin time.Time
	shift atomic.Int64 // nanoseconds
}

func newJumpyClock() *jumpyClock {
	k := &jumpyClock{begin: time.Now()}
	k.step(time.Until(epoch.AddDate(1, 0, 0)))
	return k
}

func (k *jumpyClock) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(k.shift.Load()))
}
func (k *jumpyClock) mono() time.Duration  { return time.Since(k.begin) }
func (k *jumpyClock) step(d time.Duration) { k.shift.Add(int64(d)) }
func (k *jumpyClock) right() time.Time     { return epoch.AddDate(1, 0, 0).Add(k.mono()) }

// jumpyClient is a client of a provider with a right clock.
func jumpyClient(t *testing.T, opts Options) (k *jumpyClock, g *grantor, c *Client, end func()) {
	k = newJumpyClock()
	g = newGrantor(k.right)
	g.latency = 10 * time.Millisecond
	opts.Now, opts.mono = k.now, k.mono
	c, end = managed(t, g, opts)
	return k, g, c, end
}

// TestJumpAndBack is about the specification's section 5.6, where a jump to 2030
// and back blocks a patient client for years: IDs go on, under a new lease, without
// following the clock. The same holds for a jump of minutes, which the new lease
// seems to permit.
func TestJumpAndBack(t *testing.T) {
	for _, patience := range []time.Duration{0, 5 * time.Second, -1} {
		for _, far := range []time.Duration{6 * time.Second, 5 * time.Minute, 9 * time.Minute, time.Hour, 3 * 365 * 24 * time.Hour} {
			testJumpAndBack(t, patience, far)
		}
	}
}

func testJumpAndBack(t *testing.T, patience, far time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		k, g, c, end := jumpyClient(t, Options{MaxBackward: new(patience)})
		defer end()
		last := Must(c.Next(t.Context()))
		first := last.MachineID()
		k.step(far)
		time.Sleep(time.Millisecond) // the one under way goes on by the monotonic clock
		for range 200 {              // a hundred seconds
			id, err := c.Next(t.Context())
			if err != nil || id <= last || id.IsFallback() || id.MachineID() == first {
				t.Fatalf("%v ahead: Next = %d of machine %d, fallback %v, %v after %d; want a leased ID of another machine", far, id, id.MachineID(), id.IsFallback(), err, last)
			}
			if d := id.Time().Sub(k.right()).Abs(); d > 2*time.Millisecond {
				t.Fatalf("%v ahead: ID of %v, want %v", far, id.Time(), k.right())
			}
			last = id
			time.Sleep(500 * time.Millisecond)
		}
		k.step(-far)
		if id, err := c.Next(ended); err != nil || id <= last {
			t.Errorf("Next after the clock was set right = %d, %v", id, err)
		}
		if m := c.Metrics(); m.ClockForward != 1 || m.ClockBackward != 0 {
			t.Errorf("metrics %+v, want one jump forward, none back", m)
		}
		if n := len(g.releases()); n != 0 {
			t.Errorf("%d leases were given back, want none: a copy may be using them", n)
		}
	})
}

// TestSuspendedMachine wakes up later: its leases are not used again, and the
// clock is believed as soon as a lease confirms it, even if that arrives late.
func TestSuspendedMachine(t *testing.T) {
	for _, slept := range []time.Duration{6 * time.Second, 5 * time.Minute, 9 * time.Minute, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			k := newJumpyClock()
			g := newGrantor(k.now) // the provider was not suspended
			g.latency = 3 * time.Second
			c, end := managed(t, g, Options{Now: k.now, mono: k.mono})
			defer end()
			before := Must(c.Next(t.Context()))
			k.step(slept)                // the lease is still valid, or not
			time.Sleep(time.Millisecond) // the one under way goes on by the monotonic clock
			id := Must(c.Next(t.Context()))
			if id.MachineID() == before.MachineID() || id.IsFallback() || !id.Time().Equal(k.now().Truncate(time.Millisecond)) {
				t.Errorf("ID of machine %d, fallback %v, %v; want another machine than %d, leased, now", id.MachineID(), id.IsFallback(), id.Time(), before.MachineID())
			}
			if len(g.requests()) != 2 || g.requests()[0].RequestKey == g.requests()[1].RequestKey {
				t.Errorf("requests %+v, want another one with another key", g.requests())
			}
		})
	}
}

// TestSuspendedMachineIsRightLater has its clock confirmed by the next lease if
// the first one after the jump did not: the answer took longer than the jump.
func TestSuspendedMachineIsRightLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newJumpyClock()
		g := newGrantor(k.now)
		c, end := managed(t, g, Options{Now: k.now, mono: k.mono})
		defer end()
		last := Must(c.Next(t.Context()))
		k.step(2 * time.Minute)
		time.Sleep(time.Millisecond)
		g.set(func() { g.mutate = func(l *Lease) { l.Created -= 119_000 } }) // as if it was granted long ago
		for range 4 * 60 {
			id, err := c.Next(t.Context())
			if err != nil || id.IsFallback() || id <= last {
				t.Fatalf("Next = %d, fallback %v, %v after %d", id, id.IsFallback(), err, last)
			}
			last = id
			g.set(func() { g.mutate = nil })
			time.Sleep(2500 * time.Millisecond)
		}
		if d := last.Time().Sub(k.now()).Abs(); d > 3*time.Second {
			t.Errorf("after ten minutes the IDs are of %v, want %v", last.Time(), k.now())
		}
	})
}

// TestJumpWithoutProvider: fallback IDs go by the monotonic clock for as long as
// the jump is far, so that one that is set right before leaves no trace, then by
// the clock.
func TestJumpWithoutProvider(t *testing.T) {
	for _, standalone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			k := newJumpyClock()
			g := newGrantor(k.right)
			opts := Options{Now: k.now, mono: k.mono, Logger: quiet}
			if !standalone {
				g.down = errDown
				opts.Provider = g
			}
			c := Must(NewClient(opts))
			defer c.Shutdown(t.Context())
			last := Must(c.Next(t.Context()))
			next := func(clock func() time.Time) {
				t.Helper()
				time.Sleep(time.Millisecond) // the first to notice a jump begins with the next millisecond
				want := clock()
				id, err := c.Next(t.Context())
				if err != nil || id <= last || !id.IsFallback() || id.Time().Sub(want).Abs() > time.Millisecond {
					t.Errorf("Next = %d of %v, %v after %d; want a fallback ID of %v", id, id.Time(), err, last, want)
				}
				last = id
			}
			for _, far := range []time.Duration{6 * time.Second, 5 * time.Minute, time.Hour} {
				k.step(far)
				next(k.right)
				time.Sleep(max(far, jumpPatience) - time.Second)
				next(k.right)
				k.step(-far)
				next(k.right)
				time.Sleep(time.Second)
				next(k.right)
			}
			k.step(time.Hour)
			next(k.right)
			time.Sleep(time.Hour + DefaultAcquireRetryMaxInterval + acquireTimeout) // the provider is asked first
			next(k.now)
			time.Sleep(time.Second)
			next(k.now)
		})
	}
}

// TestJumpToAnotherYearWithoutProvider: no witness tells that the clock is
// right, so it is not followed, however long that lasts.
func TestJumpToAnotherYearWithoutProvider(t *testing.T) {
	for _, standalone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			const year = 365 * 24 * time.Hour
			k := newJumpyClock()
			g := newGrantor(k.right)
			g.down = errDown
			opts := Options{Now: k.now, mono: k.mono, Logger: quiet}
			if !standalone {
				opts.Provider = g
			}
			c := Must(NewClient(opts))
			defer c.Shutdown(t.Context())
			last := Must(c.Next(t.Context()))
			k.step(year)
			for range 60 {
				time.Sleep(time.Minute)
				id, err := c.Next(t.Context())
				if err != nil || id <= last || id.Time().Sub(k.right()).Abs() > time.Second {
					t.Fatalf("Next = %d of %v, %v after %d; want an ID of %v", id, id.Time(), err, last, k.right())
				}
				last = id
			}
			k.step(-year)
			time.Sleep(time.Millisecond)
			if id, err := c.Next(ended); err != nil || id <= last {
				t.Errorf("Next after the clock was set right = %d, %v", id, err)
			}
		})
	}
}

// TestLongSleepWithoutProvider: a machine that slept for longer than a day is not
// a machine with a clock that jumped to another year. Its clock is followed as after a
// shorter jump; once, and not when the clock jumps later.
func TestLongSleepWithoutProvider(t *testing.T) {
	for _, standalone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			const night = 60 * time.Hour
			k := newJumpyClock()
			g := newGrantor(k.right)
			g.down = errDown
			slept := time.Duration(0)
			opts := Options{Now: k.now, mono: k.mono, asleep: func() time.Duration { return slept }, Logger: quiet}
			if !standalone {
				opts.Provider = g
			}
			c := Must(NewClient(opts))
			defer c.Shutdown(t.Context())
			Must(c.Next(t.Context()))
			settle := func() ID {
				time.Sleep(time.Second)
				Must(c.Next(t.Context()))
				time.Sleep(jumpPatience + DefaultAcquireRetryMaxInterval + acquireTimeout)
				return Must(c.Next(t.Context()))
			}
			for range 3 {
				k.step(night)
				slept += night
				if id := settle(); id.Time().Sub(k.now()).Abs() > time.Second {
					t.Fatalf("after a sleep of %v the IDs are of %v, at %v", night, id.Time(), k.now())
				}
			}
			k.step(night)
			if id := settle(); k.now().Sub(id.Time()) < night-time.Second {
				t.Errorf("a jump of %v without sleep is followed: the ID is of %v, at %v", night, id.Time(), k.now())
			}
		})
	}
}

// TestClockBeforeTheEpochIsSetRight starts on a machine that has no time yet, as
// small ones do: when it is set no ID was made by the wrong time, nor could be.
func TestClockBeforeTheEpochIsSetRight(t *testing.T) {
	for _, standalone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			k := newJumpyClock()
			off := time.Duration(k.now().UnixNano()) - time.Hour // it begins in 1970
			k.step(-off)
			g := newGrantor(k.right)
			g.down = errDown
			opts := Options{Now: k.now, mono: k.mono, Logger: quiet}
			if !standalone {
				opts.Provider = g
			}
			c := Must(NewClient(opts))
			defer c.Shutdown(t.Context())
			var early *refusal.TimeRangeError
			if id, err := c.Next(t.Context()); !errors.As(err, &early) {
				t.Errorf("Next in 1970 = %d, %v; want a TimeRangeError", id, err)
			}
			k.step(off)
			if id, err := c.Next(t.Context()); err != nil || id.Time().Sub(k.right()).Abs() > time.Minute {
				t.Errorf("Next when the clock is right = %d of %v, %v", id, id.Time(), err)
			}
		})
	}
}

func TestSmallStepsForwardAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, g, c, end := jumpyClient(t, Options{})
		defer end()
		first := Must(c.Next(t.Context()))
		for range 10 {
			k.step(maxForward)
			time.Sleep(time.Millisecond)
			if id := Must(c.Next(ended)); id.MachineID() != first.MachineID() || !id.Time().Equal(k.now().Truncate(time.Millisecond)) {
				t.Errorf("ID of machine %d, %v; want %d, %v", id.MachineID(), id.Time(), first.MachineID(), k.now())
			}
		}
		if n := len(g.requests()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// TestAfterRestore copies a client in the middle of things. The copy makes no
// ID under the leases of the original, nor under those of its request.
func TestAfterRestore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		c, end := managed(t, g, Options{})
		defer end()
		machine := Must(c.Next(t.Context())).MachineID()
		// A request for more is under way when the copy is made.
		g.set(func() { g.latency = time.Second })
		useUp(t, c)
		time.Sleep(100 * time.Millisecond)
		twin := c.Snapshot(Options{Provider: g, Now: k.now, Logger: quiet})()
		twin.AfterRestore()
		if id, err := twin.Next(ended); err == nil {
			t.Errorf("the copy made ID %d before it had a lease", id)
		}
		made := map[ID]bool{}
		for range 100 {
			for _, client := range []*Client{c, twin} {
				id := Must(client.Next(t.Context()))
				if made[id] {
					t.Fatalf("ID %d was made twice", id)
				}
				made[id] = true
				if client == twin && id.MachineID() == machine {
					t.Fatalf("the copy uses machine %d, the original's", machine)
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := twin.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		keys := map[string]int{}
		for _, r := range g.requests() {
			keys[r.RequestKey]++
		}
		if len(keys) < 3 {
			t.Errorf("%d request keys, want one of the copy's own", len(keys))
		}
	})
}

// TestAfterRestoreDropsReplyUnderWay: the reply to a request of before may have
// reached the original as well.
func TestAfterRestoreDropsReplyUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSteppedClock()
		g := newGrantor(k.now)
		g.latency = time.Second
		c, end := managed(t, g, Options{})
		defer end()
		go c.Ready(t.Context()) //nolint:errcheck // it starts the request
		time.Sleep(999 * time.Millisecond)
		c.AfterRestore()
		id := Must(c.Next(t.Context()))
		req := g.requests()
		if len(req) != 2 || req[0].RequestKey == req[1].RequestKey {
			t.Errorf("requests %+v, want two with different keys", req)
		}
		if len(g.byKey) == 2 && g.byKey[req[0].RequestKey][0].ID == int64(id.MachineID()) {
			t.Errorf("ID of machine %d, which the first reply granted", id.MachineID())
		}
	})
}

func TestAfterRestoreInStandaloneMode(t *testing.T) {
	k := newManualClock(1000)
	c := Must(newClient(Options{Now: k.now}, from(7)))
	twin := c.Snapshot(Options{Now: k.now})()
	a := Must(c.Next(t.Context()))
	twin.random = from(100)
	twin.AfterRestore()
	k.ms.Store(1001)
	b := Must(c.Next(t.Context()))
	d := Must(twin.Next(t.Context()))
	if b <= a || d == b || d == a {
		t.Errorf("IDs %d, %d and %d of the copy", a, b, d)
	}
}

// TestFlappingClockDoesNotFloodTheProvider jumps each 20 ms.
func TestFlappingClockDoesNotFloodTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, g, c, end := jumpyClient(t, Options{})
		defer end()
		last := ID(0)
		for i := range 1000 {
			k.step(time.Minute * time.Duration(1-2*(i%2)))
			time.Sleep(20 * time.Millisecond)
			if id, err := c.Next(ended); err == nil {
				if id <= last {
					t.Fatalf("ID %d after %d", id, last)
				}
				last = id
			}
		}
		if n := len(g.requests()); n > 25 {
			t.Errorf("%d requests in 20 s", n)
		}
	})
}
