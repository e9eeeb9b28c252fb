// SPDX-License-Identifier: Apache-2.0

package candidate_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/election/internal/candidate"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// newCandidate returns a candidate that has looked and waits for the next thing.
func newCandidate(t *testing.T, giveWay time.Duration) *candidate.Candidate {
	t.Helper()
	c := candidate.New(candidate.Config{
		Request: "mine", Duration: lease, Window: window, GiveWay: giveWay, Source: rand.NewPCG(1, 2), Origin: epochTime,
	}, 0)
	want(t, c, candidate.Look)
	return c
}

// want checks what the candidate wants to be done.
func want(t *testing.T, c *candidate.Candidate, action candidate.Action) (wake time.Duration) {
	t.Helper()
	do, wake, _ := c.Next()
	if do != action {
		t.Fatalf("the candidate wants action %d, not %d", do, action)
	}
	return wake
}

var (
	free = leasefdb.State{Name: "job", Epoch: 4}
	held = leasefdb.State{Name: "job", Epoch: 5, Holder: "other", Request: "other's", Duration: lease, Revision: 9}
)

// leader returns a candidate that leads since 10 ms; its claim began at 0.
func leader(t *testing.T) *candidate.Candidate {
	c := newCandidate(t, 0)
	c.HandleLook(0, free, false)
	want(t, c, candidate.Claim)
	c.HandleGrant(10*time.Millisecond, 0)
	if !c.IsLeading() || c.Deadline() != lease {
		t.Fatalf("it leads: %v, until %v", c.IsLeading(), c.Deadline())
	}
	return c
}

// TestVacancy lays out when a name that is free is claimed.
func TestVacancy(t *testing.T) {
	for name, c := range map[string]struct {
		giveWay   time.Duration
		outranked bool
		claim     time.Duration
	}{
		"at once":                 {0, false, 0},
		"after a higher priority": {0, true, window},
		"after all others":        {2 * window, false, 2 * window},
		"after all others, lower": {2 * window, true, 2 * window},
	} {
		t.Run(name, func(t *testing.T) {
			cand := newCandidate(t, c.giveWay)
			cand.HandleLook(0, free, c.outranked)
			if c.claim > 0 {
				want(t, cand, candidate.None)
				cand.Advance(c.claim - 1)
				if wake := want(t, cand, candidate.None); wake != c.claim {
					t.Errorf("it claims at %v, want %v", wake, c.claim)
				}
				cand.Advance(c.claim)
			}
			want(t, cand, candidate.Claim)
		})
	}
}

// TestFollower lays out that a follower claims a lease and a part of the window after
// the last renewal that it saw, and a window later if it is outranked.
func TestFollower(t *testing.T) {
	for _, outranked := range []bool{false, true} {
		c := newCandidate(t, 0)
		c.HandleLook(0, held, outranked)
		renewed := held
		renewed.Revision++
		c.Advance(lease / 2)
		c.HandleChange()
		want(t, c, candidate.Look)
		c.HandleLook(lease/2, renewed, outranked)
		c.Advance(lease + lease/2 - 1)
		wake := want(t, c, candidate.None)
		if wake < lease+lease/2 || wake > lease+lease/2+window {
			t.Errorf("it wakes up at %v", wake)
		}
		c.Advance(wake)
		if outranked {
			want(t, c, candidate.None)
			c.Advance(wake + window)
		}
		want(t, c, candidate.Claim)
		if c.Seen().State() != renewed {
			t.Errorf("it has seen %+v", c.Seen())
		}
	}
}

// TestLeader lays out what ends a term: the lease, sleep, and a certain loss; not a failure
// that may pass.
func TestLeader(t *testing.T) {
	for name, test := range map[string]struct {
		befall func(c *candidate.Candidate)
		over   bool
	}{
		"nothing":          {func(c *candidate.Candidate) { c.Advance(lease - 1) }, false},
		"the lease ends":   {func(c *candidate.Candidate) { c.Advance(lease) }, true},
		"a short sleep":    {func(c *candidate.Candidate) { c.HandleSleep(lease/4, lease/4) }, false},
		"a long sleep":     {func(c *candidate.Candidate) { c.HandleSleep(lease/4, lease*3/4) }, true},
		"deposed":          {func(c *candidate.Candidate) { c.HandleFailure(lease/3, lost(5)) }, true},
		"closed":           {func(c *candidate.Candidate) { c.HandleFailure(lease/3, kv.ErrClosed) }, true},
		"it may pass":      {func(c *candidate.Candidate) { c.HandleFailure(lease/3, errors.New("passing")) }, false},
		"renewed too late": {func(c *candidate.Candidate) { c.HandleRenewal(lease+1, 1) }, true},
		"renewed":          {func(c *candidate.Candidate) { c.HandleRenewal(lease/3+1, lease/3); c.Advance(lease) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := leader(t)
			c.Advance(lease / 4)
			test.befall(c)
			if over := c.Over() != nil; over != test.over || c.IsLeading() == over {
				t.Errorf("over: %v, leading: %v", c.Over(), c.IsLeading())
			}
			if test.over {
				c.Advance(10 * lease)
				c.HandleChange()
				want(t, c, candidate.None)
			}
		})
	}
}

// TestLateGrant checks that a claim that was granted too late does not begin a term, and is asked for again.
func TestLateGrant(t *testing.T) {
	c := newCandidate(t, 0)
	c.HandleLook(0, free, false)
	want(t, c, candidate.Claim)
	c.HandleGrant(lease, 0)
	want(t, c, candidate.Look)
	mine := held
	mine.Request = "mine"
	c.HandleLook(lease, mine, true)
	want(t, c, candidate.Claim)
}

// TestSleepDuringTransactions checks that a sleep which the candidate learns of before the
// outcome of a claim or a renewal counts against the lease, which may have begun before it.
func TestSleepDuringTransactions(t *testing.T) {
	for _, c := range []struct {
		slept time.Duration
		leads bool
	}{{lease / 4, true}, {lease, false}, {100 * lease, false}} {
		claimant := newCandidate(t, 0)
		claimant.HandleLook(0, free, false)
		want(t, claimant, candidate.Claim)
		claimant.HandleSleep(2, c.slept)
		claimant.HandleGrant(3, 1)
		if claimant.IsLeading() != c.leads || c.leads && claimant.Deadline() != 1+lease-c.slept {
			t.Errorf("a claim that slept for %v: leads %v until %v", c.slept, claimant.IsLeading(), claimant.Deadline())
		}
	}
	l := leader(t)
	began := lease / 3
	l.HandleChange()
	want(t, l, candidate.Renew)
	l.HandleSleep(began+1, lease/2)
	l.HandleRenewal(began+2, began)
	if l.Deadline() != began+lease/2 {
		t.Errorf("a renewal that slept for half a lease: it leads until %v, want %v", l.Deadline(), began+lease/2)
	}
	l.HandleChange()
	want(t, l, candidate.Renew)
	l.HandleRenewal(began+lease/3+1, began+lease/3)
	if l.Deadline() != began+lease/3+lease {
		t.Errorf("the sleep still counts in the next renewal: it leads until %v", l.Deadline())
	}
}
