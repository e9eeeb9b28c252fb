// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/lease"
)

// testClock checks clocks that the layout cannot express.
func testClock(f *fixture) {
	n := f.newNode(fresh())
	layout := idgen.DefaultLayout()
	for _, c := range []struct {
		at   time.Time
		want error
	}{
		{layout.First().Add(-time.Millisecond), idgen.ErrBeforeCustomEpoch},
		{time.UnixMilli(0), idgen.ErrBeforeCustomEpoch},
		{layout.Last().Add(time.Millisecond), idgen.ErrTimeOverflow},
	} {
		f.now.Store(c.at.UnixMilli())
		_, err := n.Acquire(f.Context(), idgen.AcquireRequest{})
		var outside *refusal.TimeRangeError
		if !errors.Is(err, c.want) || !errors.As(err, &outside) || !outside.Time.Equal(c.at) {
			f.Errorf("at %v: got %v, want %v", c.at, err, c.want)
		}
	}
	f.now.Store(layout.Last().UnixMilli())
	if l := f.acquireLease(n, 1)[0]; l.Expired != f.now.Load()+1 {
		f.Errorf("in the last millisecond: the lease ends at %d, %d ms later", l.Expired, l.Expired-f.now.Load())
	}
}

// testSkewedClocks lets servers with different clocks fill the space, again and
// again: the bounds of the blocks keep their leases apart.
func testSkewedClocks(f *fixture) {
	skews := []time.Duration{0, 3 * time.Second, -3 * time.Second, 9 * time.Minute, -9 * time.Minute, -24 * time.Hour}
	var nodes []*node
	for _, skew := range skews {
		n := f.newNode(small(2))
		n.off.Store(skew.Milliseconds())
		nodes = append(nodes, n)
	}
	granted := 0
	for range 12 {
		for _, n := range nodes {
			for range 4 {
				leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{})
				if errors.Is(err, lease.ErrExhausted) {
					continue
				}
				if err != nil {
					f.Fatal(err)
				}
				granted++
				f.checkGrant(leases, 1)
			}
		}
		f.advance(4 * time.Minute)
	}
	if granted < 60 {
		f.Errorf("only %d leases were granted", granted)
	}
}

// testClockYearAhead lets a server with a clock that is a year ahead, and fast, take
// everything, again and again: the others are granted the time until then.
func testClockYearAhead(f *fixture) {
	broken, sane := f.newNode(small(2)), f.newNode(small(2))
	broken.off.Store((365 * 24 * time.Hour).Milliseconds())
	for hour := range 4 {
		for range 3 * 16 {
			f.acquireLease(broken, 1)
			broken.off.Add(time.Hour.Milliseconds() / 16)
			broken.paused.Add(-time.Hour.Milliseconds() / 16) // both of its clocks run fast
		}
		for i := range 16 {
			if leases := f.acquireLease(sane, 1); leases[0].Created > f.now.Load()+1000 {
				f.Fatalf("hour %d, lease %d begins %d ms ahead", hour, i, leases[0].Created-f.now.Load())
			}
		}
		f.advance(time.Hour)
	}
	f.advance(366 * 24 * time.Hour) // until all of that is over
	for range 16 {
		f.acquireLease(sane, 1)
	}
}

// testFallback checks that a lease ends no earlier than its predecessor may be
// continued, unless that was released.
func testFallback(f *fixture) {
	n := f.newNode(small(5)) // two machine ids
	first := f.acquireLease(n, 1)[0]
	released := f.acquireLease(n, 1)[0]
	f.releaseLease(n, released, released.Created)
	f.advance(10*time.Minute + time.Millisecond)
	for range 2 {
		l := f.acquireLease(n, 1)[0]
		if l.Expired != l.Created+600_000 || l.ID == first.ID && l.Expired < first.Expired+600_000 {
			f.Errorf("machine %d: lasts from %d to %d, after one until %d", l.ID, l.Created, l.Expired, first.Expired)
		}
	}
}

// testShortened shortens the leases of a service after their holders have crashed: each
// further lease lasts as long as is configured, even of positions which their last
// holder may still continue; these are granted later.
func testShortened(f *fixture) {
	short := small(5) // two machine ids
	short.Default.Duration = time.Minute
	long := f.newNode(small(5))
	for range 2 {
		f.acquireLease(long, 1)
	}
	n := f.newNode(short)
	f.advance(10 * time.Minute)
	for range 8 { // the holders may continue for ten minutes, the next ones for one
		if leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.Is(err, lease.ErrExhausted) {
			f.Fatalf("got %+v and %v while the positions may be continued, want ErrExhausted", leases, err)
		}
		f.advance(time.Minute)
	}
	f.advance(time.Minute)
	for generation := range 5 {
		for range 2 {
			if l := f.acquireLease(n, 1)[0]; l.Duration() != time.Minute {
				f.Errorf("generation %d: the lease lasts %v, want a minute", generation, l.Duration())
			}
		}
		f.advance(time.Minute)
	}
	for range 2 { // longer again
		if l := f.acquireLease(long, 1)[0]; l.Duration() != 10*time.Minute {
			f.Errorf("the lease lasts %v, want ten minutes", l.Duration())
		}
	}
}

// testShortenedQueue has free positions, and many others before them in the queue that
// cannot be granted yet, since their holders had longer leases.
func testShortenedQueue(f *fixture) {
	short := small(2) // 16 machine ids
	short.Default.Duration = time.Minute
	long, n := f.newNode(small(2)), f.newNode(short)
	for range 12 {
		f.acquireLease(long, 1)
	}
	f.advance(9 * time.Minute)
	for range 4 {
		f.acquireLease(n, 1)
	}
	f.advance(time.Minute + time.Millisecond)
	for range 8 {
		for range 4 {
			f.acquireLease(n, 1)
		}
		f.advance(time.Minute + time.Millisecond)
	}
}

const year = 365 * 24 * time.Hour

// testClockJump sets the clock of a server to another year while it runs, and
// back: its leases begin at the right time throughout, and it takes nothing of
// that year.
func testClockJump(f *fixture) {
	n, other := f.newNode(small(2)), f.newNode(small(2))
	f.acquireNow(n, "at first")
	for round := range 4 {
		n.off.Store(year.Milliseconds())
		for range 8 { // an hour and a half
			l := f.acquireNow(n, "after the jump")
			f.advance(5 * time.Minute)
			f.releaseLease(n, l, f.now.Load())
			f.advance(6 * time.Minute)
		}
		n.off.Store(0)
		f.acquireNow(n, "when the clock is right again")
		if round%2 == 0 {
			f.acquireNow(other, "of another server")
		}
		f.advance(time.Hour)
	}
	for range 16 {
		f.acquireNow(other, "all positions")
	}
}

// testClockMinutes sets the clock of a server ahead by less than a lease lasts, and
// back before it was wrong for as long. Then it leaves the clock ahead: the server
// believes it once it has lasted as long as it is far, or once another server
// leases by it.
func testClockMinutes(f *fixture) {
	for _, far := range []time.Duration{6 * time.Second, time.Minute, 5 * time.Minute, 9 * time.Minute} {
		n := f.newNode(small(2))
		f.acquireNow(n, "at first")
		for range 3 {
			n.off.Store(far.Milliseconds())
			for range 4 {
				f.acquireNow(n, "after a jump of "+far.String())
				f.advance(far/4 - time.Millisecond)
			}
			n.off.Store(0)
			f.acquireNow(n, "when the clock is right again")
		}
		for _, shared := range []bool{false, true} {
			f.advance(time.Hour)
			n.paused.Add(far.Milliseconds()) // the clock is right, but nothing says so
			if l := f.acquireLease(n, 1)[0]; l.Created > f.now.Load()-far.Milliseconds()/2 {
				f.Errorf("after a pause of %v: the lease begins %d ms from now", far, l.Created-f.now.Load())
			}
			if shared && far > 150*time.Second { // the store's time lags by a quarter of a lease
				f.acquireNow(f.newNode(small(2)), "of a server that was not paused")
			} else {
				f.advance(far)
			}
			f.acquireNow(n, "after a pause of "+far.String())
		}
		f.advance(time.Hour)
	}
}

// testClockPaused pauses the machine of a server, so that its monotonic clock
// knows nothing of a week: it does not believe the clock until another server
// leases by that time, too.
func testClockPaused(f *fixture) {
	n, other := f.newNode(small(2)), f.newNode(small(2))
	f.acquireNow(n, "at first")
	const week = 7 * 24 * time.Hour
	f.advance(week)
	n.paused.Store(week.Milliseconds())
	if l := f.acquireLease(n, 1)[0]; l.Created > f.now.Load()-week.Milliseconds()/2 {
		f.Errorf("a jump of a week is believed without a witness: the lease begins %d ms from now", l.Created-f.now.Load())
	}
	for range 4 {
		f.acquireNow(other, "of a server that was not paused")
		f.advance(6 * time.Minute)
	}
	f.acquireNow(n, "with a witness")
	f.advance(6 * time.Minute)
	n.paused.Add(week.Milliseconds() / 2)
	f.advance(week / 2)
	f.acquireNow(f.newNode(small(2)), "of a server that was started after the pause")
	for range 3 {
		f.advance(6 * time.Minute)
		f.acquireNow(other, "of a server that was not paused")
	}
	f.acquireNow(n, "with a witness, again")
}

// testClockIdle leaves a store alone for a year: a request is then granted at
// once, by a server that was there all the time and by a new one.
func testClockIdle(f *fixture) {
	n := f.newNode(small(2))
	for round := range 3 {
		f.acquireNow(n, "a server that goes on")
		f.advance(year)
		if round == 1 {
			n = f.newNode(small(2))
		}
		f.acquireNow(n, "after a year")
		f.acquireNow(n, "and again")
		f.advance(year)
		f.acquireNow(f.newNode(small(2)), "a new server")
	}
}

// testClocksApart starts a server with a clock that stays a year ahead. The others
// lease by the right time. When the clock of one of them jumps to that year, too, it
// does not take the first one for a witness.
func testClocksApart(f *fixture) {
	n, jumps := f.newNode(small(2)), f.newNode(small(2))
	f.acquireNow(n, "at first")
	f.acquireNow(jumps, "at first")
	wrong := f.newNode(small(2))
	wrong.off.Store(year.Milliseconds())
	for range 30 {
		if l := f.acquireLease(wrong, 1)[0]; l.Created < f.now.Load()+year.Milliseconds()-1000 {
			f.Fatalf("the lease begins %d ms from now", l.Created-f.now.Load())
		}
		f.acquireNow(n, "next to a server that is a year ahead")
		jumps.off.Store(year.Milliseconds())
		f.acquireNow(jumps, "a jump to that year")
		jumps.off.Store(0)
		f.advance(5 * time.Minute)
	}
}

// testClockSetLate starts a server on a machine that has no time yet. When its
// clock is set, it leases by that, and then believes no jump.
func testClockSetLate(f *fixture) {
	n := f.newNode(small(2))
	n.off.Store(time.Hour.Milliseconds() - f.now.Load())
	for range 2 {
		if leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.Is(err, idgen.ErrBeforeCustomEpoch) {
			f.Fatalf("in 1970: got %+v, %v", leases, err)
		}
	}
	n.off.Store(0)
	f.acquireNow(n, "when the clock is set")
	n.off.Store(year.Milliseconds())
	f.acquireNow(n, "after a jump")
}
