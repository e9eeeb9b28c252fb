// SPDX-License-Identifier: Apache-2.0

package candidate_test

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/election/internal/candidate"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// node is a process with a clock of its own, which runs a candidate as package
// election does.
type node struct {
	*world
	name     string
	priority int
	gen      int           // lives: each crash begins another
	paused   time.Duration // until then, by true time

	rate         float64       // of its clock
	origin, base time.Duration // at the true time origin the clock showed base

	campaign int // another one for each campaign
	c        *candidate.Candidate
	request  string
	epoch    int64
	leading  bool // its function that leads runs
	asked    bool // something that the candidate wanted is under way
	ended    int  // the campaign with a term that has ended, while its function has not returned
	alarm    time.Duration

	readySince time.Duration // campaigning, without a fault and without giving way; 0: not
}

// epochTime is time zero of all clocks.
var epochTime = time.Unix(0, 0)

func (n *node) local() time.Duration {
	return n.base + time.Duration(float64(max(n.now-n.origin, 0))*n.rate)
}

// start begins a campaign.
func (n *node) start() { n.campaignAfter(0) }

func (n *node) campaignAfter(giveWay time.Duration) {
	n.campaign++
	n.request = n.name + "/" + strconv.Itoa(n.gen) + "/" + strconv.Itoa(n.campaign)
	n.leading, n.asked, n.epoch, n.alarm = false, false, 0, 0
	n.c = candidate.New(candidate.Config{
		Request: n.request, Duration: lease, Window: window, GiveWay: giveWay,
		Source: rand.NewPCG(n.rng.Uint64(), 0), Origin: epochTime,
	}, n.local())
	n.readySince = n.now + time.Duration(float64(giveWay)/0.8) + 1
}

// pump does what package election does after each event: it tells the time, begins what
// the candidate wants, and sets the alarm.
func (n *node) pump() {
	if n.c == nil {
		return
	}
	n.c.Advance(n.local())
	if n.leading && n.c.Over() != nil {
		n.deposed()
		return
	}
	if n.c.Over() != nil { // before it could begin to lead, or while it is winding up
		if n.ended != n.campaign {
			n.start()
			n.pump()
		}
		return
	}
	if n.leading && !n.c.IsLeading() {
		n.violate("%s leads no longer, and does not say why", n.name)
	}
	do, wake, timed := n.c.Next()
	if n.asked = n.asked || do != candidate.None; !n.asked && !timed {
		n.violate("%s waits for nothing", n.name)
	}
	switch do {
	case candidate.Look:
		n.look()
	case candidate.Claim:
		n.claim()
	case candidate.Renew:
		n.renew()
	}
	if n.c.IsLeading() && !n.leading {
		n.lead()
	}
	if timed {
		n.setAlarm(n.now + time.Duration(float64(max(wake-n.local(), 0))/n.rate) + 1)
	}
}

// setAlarm wakes the node up at a time, or sooner.
func (n *node) setAlarm(at time.Duration) {
	if n.alarm > n.now && n.alarm <= at {
		return
	}
	n.alarm = at
	n.after(at-n.now, n, func() {})
}

func (n *node) fired(campaign int) {
	if n.c != nil && n.campaign == campaign {
		n.c.HandleChange()
	}
}

// transaction is one that is tried until it succeeds, as kv.Retry does.
type transaction struct {
	*node
	campaign int
	faults   int
	until    time.Duration // by the node's clock; 0: for ever
	do       func(a *attempt) error
	commit   func(a *attempt)                                      // with the commit, in the database
	done     func(now, began time.Duration, a *attempt, err error) // at the node
}

func (n *node) transact(t transaction) {
	t.node, t.campaign = n, n.campaign
	t.try()
}

// try makes an attempt: the read goes to the database, its answer comes back, the commit goes
// there and its answer comes back. The node may be suspended, or crash, between any two.
func (t *transaction) try() {
	began := t.local()
	t.after(t.between(0, leg), nil, func() {
		a, at := t.store.begin(), t.now
		t.after(t.between(0, leg), t.node, func() {
			if err := t.do(a); err != nil {
				t.end(began, a, err)
				return
			}
			t.after(t.between(0, leg), nil, func() {
				err := t.tryCommit(a, at)
				t.after(t.between(0, leg), t.node, func() { t.answered(began, a, err) })
			})
		})
	})
}

// tryCommit commits an attempt that read at a time, unless a fault comes between.
func (t *transaction) tryCommit(a *attempt, at time.Duration) error {
	if t.store.version-a.version > 5_000_000 || t.now-at > 5*time.Second {
		t.counts.expired++
		return errRetry // 1007
	}
	fault := 0
	if t.faults < faults && t.rng.IntN(8) == 0 {
		t.faults++
		fault = 1 + t.rng.IntN(4)
	}
	switch fault {
	case 1:
		t.counts.conflicts++
		return errRetry // 1020
	case 2:
		t.counts.lost++
		return errRetry // 1021, not committed
	case 3:
		t.counts.expired++
		return errRetry // 1007
	}
	if !t.store.commit(a) {
		t.counts.conflicts++
		return errRetry
	}
	t.committed(a)
	if t.commit != nil {
		t.commit(a)
	}
	if fault == 4 {
		t.counts.lost++
		return errRetry // 1021, committed
	}
	return nil
}

// answered follows the answer to a commit.
func (t *transaction) answered(began time.Duration, a *attempt, err error) {
	switch {
	case err == nil:
		t.end(began, a, nil)
	case t.until > 0 && t.local() >= t.until:
		t.end(began, a, err)
	default:
		t.after(t.between(0, backoff), t.node, t.try)
	}
}

func (t *transaction) end(began time.Duration, a *attempt, err error) {
	if t.campaign == t.node.campaign {
		t.done(t.local(), began, a, err)
	}
}

func (n *node) look() {
	n.transact(transaction{
		do: func(a *attempt) error {
			a.reads, a.readsRenewal, a.elsewhere = true, true, true
			return nil
		},
		commit: func(*attempt) {
			n.standbys[n] = n.now
			n.watch(true)
		},
		done: func(now, _ time.Duration, a *attempt, _ error) {
			n.asked = false
			state := a.state
			if n.mutation == takeoverEarly {
				state.Duration /= 2
			}
			n.c.HandleLook(now, state, n.outranked())
		},
	})
}

func (n *node) outranked() bool {
	for other := range n.standbys {
		if other.priority > n.priority {
			return true
		}
	}
	return false
}

// watch arms a watch. Now and then it fails.
func (n *node) watch(renewal bool) {
	odds := 50
	if n.mutation == lostWatches {
		odds = 2
	}
	campaign := n.campaign
	if n.rng.IntN(odds) > 0 {
		n.watchers = append(n.watchers, watcher{n, campaign, renewal})
	} else if n.mutation != lostWatches {
		n.after(n.between(0, leg), n, func() {
			if n.c != nil && n.campaign == campaign {
				n.c.HandleNoWatch(n.local())
			}
		})
	}
}

func (n *node) claim() {
	seen, request := n.c.Seen(), n.request
	n.transact(transaction{
		do: func(a *attempt) error {
			if _, granted := a.claim(seen, n.name, request, lease, epochTime.Add(n.local())); !granted {
				return errHeld
			}
			return nil
		},
		commit: func(*attempt) {
			delete(n.standbys, n)
			n.watch(false)
		},
		done: func(now, began time.Duration, a *attempt, err error) {
			n.asked = false
			if err != nil {
				n.c.HandleRefusal(now, a.state)
				return
			}
			n.epoch = a.next.Epoch
			if n.mutation == countFromEnd {
				began = now
			}
			n.c.HandleGrant(now, began)
		},
	})
}

func (n *node) renew() {
	epoch, request := n.epoch, n.request
	n.transact(transaction{
		until: n.c.Deadline(),
		do: func(a *attempt) error {
			if !a.renew(epoch, request) {
				return lost(epoch)
			}
			return nil
		},
		commit: func(*attempt) {
			for standby, since := range n.standbys {
				if n.now-since > lease*5/3 {
					delete(n.standbys, standby)
				}
			}
		},
		done: func(now, began time.Duration, _ *attempt, err error) {
			n.asked = false
			switch {
			case err != nil:
				n.c.HandleFailure(now, err)
			case n.mutation == countFromEnd:
				n.c.HandleRenewal(now, now)
			default:
				n.c.HandleRenewal(now, began)
			}
		},
	})
}

func lost(epoch int64) error {
	return &leasefdb.LostError{Name: "job", Epoch: epoch, Reason: "deposed"}
}
