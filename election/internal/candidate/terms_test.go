// SPDX-License-Identifier: Apache-2.0

package candidate_test

import (
	"errors"
	"time"
)

var (
	errRetry = errors.New("retryable")
	errHeld  = errors.New("held by another")
)

// committed notes what a commit changed, and checks the order of terms.
func (w *world) committed(a *attempt) {
	if a.logged > 0 {
		if a.logged < w.logged {
			w.violate("rank %d wrote after rank %d", a.logged, w.logged)
		}
		w.logged = a.logged
	}
	if a.setsFence && a.next.Held() {
		w.elected(a.state.Held())
	}
	if a.countsUp {
		w.stableSince = w.now
		w.fire(true)
	}
	if a.setsFence {
		w.fire(false)
	}
}

// elected notes a new term.
func (w *world) elected(takeover bool) {
	w.elections++
	bound := slack + 2*window
	if takeover {
		w.counts.takeovers++
		bound = w.bound()
	}
	if took := w.now - w.stableSince; w.witness() {
		w.bounded++
		w.longest = max(w.longest, took)
		if took > bound {
			w.violate("a leader only after %v; the bound is %v", took, bound)
		}
	}
}

// lead begins a term: the function that leads writes, and something ends the term.
func (n *node) lead() {
	n.leading, n.readySince = true, 0
	for _, other := range n.nodes {
		if n.exact && other != n && other.c != nil && other.c.IsLeading() && other.local() < other.c.Deadline() {
			n.violate("%s begins to lead %v before %s believes that its lease ends", n.name, other.c.Deadline()-other.local(), other.name)
		}
	}
	n.write()
	campaign := n.campaign
	n.after(n.between(lease/10, 2*lease), n, func() {
		if n.campaign != campaign || n.c.Over() != nil {
			return
		}
		switch fate := n.rng.IntN(10); {
		case fate < 5:
			n.after(n.between(0, lease/20), n, func() { n.returned(campaign, 2*window) }) // it resigns
		case fate < 7:
			n.crash()
		default:
			n.pause()
		}
	})
}

// deposed has the function that leads return, some time after its context has
// ended. Until then it writes.
func (n *node) deposed() {
	campaign := n.campaign
	n.leading, n.ended = false, campaign
	n.after(n.between(0, lease), n, func() { n.returned(campaign, 0) })
}

// returned gives the name back when the function that leads has returned.
func (n *node) returned(campaign int, giveWay time.Duration) {
	if n.campaign != campaign {
		return
	}
	epoch, request := n.epoch, n.request
	if n.c.Over() != nil {
		giveWay = 0
	}
	n.c = nil
	n.campaign++
	n.transact(transaction{
		do:   func(a *attempt) error { a.release(epoch, request); return nil },
		done: func(time.Duration, time.Duration, *attempt, error) { n.campaignAfter(giveWay) },
	})
}

// write writes in the term, again and again, until the function that leads has returned or
// a write was refused.
func (n *node) write() {
	epoch, request := n.epoch, n.request
	n.transact(transaction{
		do: func(a *attempt) error {
			if n.mutation != noFence && !a.check(epoch, request) {
				return errHeld
			}
			a.write(epoch)
			return nil
		},
		done: func(_, _ time.Duration, _ *attempt, err error) {
			if err != nil {
				n.counts.refused++
				return
			}
			campaign := n.campaign
			n.after(n.between(0, lease/5), n, func() {
				if n.campaign == campaign {
					n.write()
				}
			})
		},
	})
}

// disturb has a fault befall the node now and then, whatever it does.
func (n *node) disturb() {
	switch n.rng.IntN(3) {
	case 0:
		n.crash()
	default:
		n.pause()
	}
	n.after(n.between(2*lease, 30*lease), nil, n.disturb)
}

// crash ends the process, and starts another in its place.
func (n *node) crash() {
	n.counts.crashes++
	n.gen++
	n.campaign++
	n.c, n.readySince, n.paused = nil, 0, 0
	n.after(n.between(0, 2*lease), n, n.start)
}

// pause suspends the process. Its clock goes on, or stands still, of which the process is told or
// not; or only its clock jumps.
func (n *node) pause() {
	kind := 0
	if !n.exact {
		kind = n.rng.IntN(4)
	}
	long := n.between(lease/10, 3*lease)
	if kind == 3 {
		n.jump(n.between(-2*lease, 2*lease))
		return
	}
	n.counts.pauses++
	if kind > 0 {
		n.base, n.origin = n.local(), n.now+long
	}
	n.paused = max(n.paused, n.now+long)
	if n.readySince > 0 {
		n.readySince = max(n.readySince, n.paused)
	}
	if kind == 1 {
		n.after(long, n, func() {
			if n.c != nil {
				n.c.HandleSleep(n.local(), time.Duration(float64(long)*n.rate))
			}
		})
	}
}

// jump sets the clock.
func (n *node) jump(by time.Duration) {
	n.counts.jumps++
	n.base, n.origin = max(n.local()+by, 1), max(n.now, n.origin)
	if n.readySince > 0 {
		n.readySince = max(n.readySince, n.now)
	}
	n.pump()
}
