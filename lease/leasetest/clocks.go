// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
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
		var outside *idgen.TimeRangeError
		if !errors.Is(err, c.want) || !errors.As(err, &outside) || !outside.Time.Equal(c.at) {
			f.Errorf("at %v: got %v, want %v", c.at, err, c.want)
		}
	}
	f.now.Store(layout.Last().UnixMilli())
	if l := f.acquireLease(n, 1)[0]; l.Expired != f.now.Load()+1 {
		f.Errorf("in the last millisecond: the lease ends at %d, %d ms later", l.Expired, l.Expired-f.now.Load())
	}
}

// testSkewedClocks lets servers whose clocks differ fill the space, again and
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

// testClockYearAhead lets a server whose clock is a year ahead, and runs fast, take
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
	f.advance(366 * 24 * time.Hour) // behind all of that
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

// testShortened shortens the leases of a service whose holders have crashed: each
// lease from then on lasts as long as is configured, also that of positions which
// their last holder may still continue; these are granted later.
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

// testShortenedQueue has positions that are free behind many others which come
// first in the queue, but cannot be granted yet, since their holders had longer
// leases.
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
