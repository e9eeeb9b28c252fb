// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

const year = 365 * 24 * time.Hour

// begins acquires a lease of the default service and checks that it begins at
// the right time, give or take a second.
func (f *fixture) begins(n *node, what string) idgen.Lease {
	f.Helper()
	l := f.acquire(n, 1)[0]
	if ahead := time.Duration(l.Created-f.now.Load()) * time.Millisecond; ahead.Abs() > time.Second {
		f.Fatalf("%s: the lease begins %v from now", what, ahead)
	}
	return l
}

// testClockJump sets the clock of a server to another year while it runs, and
// back: its leases begin at the right time throughout, and it takes nothing of
// that year.
func testClockJump(f *fixture) {
	n, other := f.node(small(2)), f.node(small(2))
	f.begins(n, "at first")
	for round := range 4 {
		n.off.Store(year.Milliseconds())
		for range 8 { // an hour and a half
			l := f.begins(n, "after the jump")
			f.advance(5 * time.Minute)
			f.release(n, l, f.now.Load())
			f.advance(6 * time.Minute)
		}
		n.off.Store(0)
		f.begins(n, "when the clock is right again")
		if round%2 == 0 {
			f.begins(other, "of another server")
		}
		f.advance(time.Hour)
	}
	for range 16 {
		f.begins(other, "all positions")
	}
}

// testClockPaused pauses the machine of a server, so that its monotonic clock
// knows nothing of a week: it does not believe the clock until another server
// leases by that time, too.
func testClockPaused(f *fixture) {
	n, other := f.node(small(2)), f.node(small(2))
	f.begins(n, "at first")
	const week = 7 * 24 * time.Hour
	f.advance(week)
	n.paused.Store(week.Milliseconds())
	if l := f.acquire(n, 1)[0]; l.Created > f.now.Load()-week.Milliseconds()/2 {
		f.Errorf("a jump of a week is believed without a witness: the lease begins %d ms from now", l.Created-f.now.Load())
	}
	for range 4 {
		f.begins(other, "of a server that was not paused")
		f.advance(6 * time.Minute)
	}
	f.begins(n, "with a witness")
	f.advance(6 * time.Minute)
	n.paused.Add(week.Milliseconds() / 2)
	f.advance(week / 2)
	f.begins(f.node(small(2)), "of a server that was started meanwhile")
	for range 3 {
		f.advance(6 * time.Minute)
		f.begins(other, "of a server that was not paused")
	}
	f.begins(n, "with a witness, again")
}

// testClockIdle leaves a store alone for a year: who leases then is granted at
// once, be it a server that was there all the time or a new one.
func testClockIdle(f *fixture) {
	n := f.node(small(2))
	for round := range 3 {
		f.begins(n, "a server that goes on")
		f.advance(year)
		if round == 1 {
			n = f.node(small(2))
		}
		f.begins(n, "after a year")
		f.begins(n, "and again")
		f.advance(year)
		f.begins(f.node(small(2)), "a new server")
	}
}

// testClocksApart starts a server whose clock is a year ahead, and goes on so.
// The others lease by the right time, and one of them whose clock jumps to that
// year, too, does not take the first one for a witness.
func testClocksApart(f *fixture) {
	n, jumps := f.node(small(2)), f.node(small(2))
	f.begins(n, "at first")
	f.begins(jumps, "at first")
	wrong := f.node(small(2))
	wrong.off.Store(year.Milliseconds())
	for range 30 {
		if l := f.acquire(wrong, 1)[0]; l.Created < f.now.Load()+year.Milliseconds()-1000 {
			f.Fatalf("the lease begins %d ms from now", l.Created-f.now.Load())
		}
		f.begins(n, "beside a server that is a year ahead")
		jumps.off.Store(year.Milliseconds())
		f.begins(jumps, "a jump to that year")
		jumps.off.Store(0)
		f.advance(5 * time.Minute)
	}
}

// testClockSetLate starts a server on a machine that has no time yet. When its
// clock is set, it leases by that, and then believes no jump.
func testClockSetLate(f *fixture) {
	n := f.node(small(2))
	n.off.Store(time.Hour.Milliseconds() - f.now.Load())
	for range 2 {
		if leases, err := n.Acquire(f.Context(), idgen.AcquireRequest{}); !errors.Is(err, idgen.ErrBeforeCustomEpoch) {
			f.Fatalf("in 1970: got %+v, %v", leases, err)
		}
	}
	n.off.Store(0)
	f.begins(n, "when the clock is set")
	n.off.Store(year.Milliseconds())
	f.begins(n, "after a jump")
}
