// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

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
			if shared && far > 150*time.Second { // the store's time lags behind by a quarter of a lease
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
	f.acquireNow(f.newNode(small(2)), "of a server that was started meanwhile")
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

// testClocksApart starts a server whose clock is a year ahead, and goes on so.
// The others lease by the right time, and one of them whose clock jumps to that
// year, too, does not take the first one for a witness.
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
		f.acquireNow(n, "beside a server that is a year ahead")
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
