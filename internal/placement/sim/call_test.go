// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// call is a call of an actor by some process. It goes to where the key resolves to, and
// from there two processes further at most. The caller repeats it until it is
// handled: each effect adds one to the register, whichever call it is for.
type call struct {
	origin  *process
	key     placement.Key
	since   time.Duration
	by      time.Duration // when the caller gives up
	current *attempt      // nil: it is over, or between two attempts
	done    func(placement.Holder, error)
}

// attempt is one attempt of a call.
type attempt struct {
	call *call
	hops int // how many processes it has been sent to
}

// route is where a process has sent an attempt.
type route struct {
	from *process // nil: the attempt is where it began
	to   placement.Holder
}

// maxHops is how often an attempt is sent: once by the caller and then twice.
const maxHops = 3

var (
	errGivenUp = errors.New("sim: the caller has given up")
	errNoReply = errors.New("sim: there is no reply; the call may have been handled")
	errAbsent  = errors.New("sim: nothing is there; retry")
	errTooFar  = errors.New("sim: the call was forwarded too often; retry")
)

func (c *call) startAttempt() {
	c.current = &attempt{call: c}
	c.current.arriveAt(c.origin, route{})
}

// arriveAt resolves the key where the attempt is.
func (t *attempt) arriveAt(p *process, s route) {
	p.resolveKey(t.call.key, func(r core.Resolution, err error) {
		switch {
		case err != nil:
			t.sendReply(p, placement.Holder{}, err)
		case r.Locality == core.Remote:
			t.correctPlace(p, s)
			t.forwardTo(p, r)
		default:
			p.actors[t.call.key].handleCall(t)
		}
	})
}

// forwardTo sends the attempt to where the key is said to be.
func (t *attempt) forwardTo(p *process, r core.Resolution) {
	if t.hops++; t.hops > maxHops {
		t.sendReply(p, placement.Holder{}, errTooFar)
		return
	}
	s := route{from: p, to: placement.Holder{Owner: r.Owner, Address: r.Address, Epoch: r.Epoch}}
	if p == t.call.origin {
		p.after(p.machine.clock.trueDuration(2*giveUp), func() { t.endAttempt(placement.Holder{}, errNoReply) })
	}
	p.world.tracef("%v sends %v to %s", p, t.call.key, r.Address)
	p.sendTo(p.world.byName[r.Address], func(q *process) { t.arriveAt(q, s) }, func() {
		s.forgetAt(p, t.call.key)
		t.sendReply(p, placement.Holder{}, errAbsent)
	})
}

// correctPlace tells both processes that the key is not where it was sent to: the one that has sent
// the attempt forgets the place, and this one gives back what it may have of the key without
// knowing of it.
func (t *attempt) correctPlace(p *process, s route) {
	if s.from != nil && s.to.Epoch != 0 {
		s.forgetAt(p, t.call.key)
		p.sendTo(s.from.machine, func(q *process) {
			if q == s.from {
				s.forgetAt(q, t.call.key)
			}
		}, nil)
	}
}

func (s route) forgetAt(p *process, key placement.Key) { p.driver.Forget(key, s.to) }

// sendReply sends the outcome to the caller.
func (t *attempt) sendReply(p *process, h placement.Holder, err error) {
	origin := t.call.origin
	if p == origin {
		t.endAttempt(h, err)
		return
	}
	p.sendTo(origin.machine, func(q *process) {
		if q == origin {
			t.endAttempt(h, err)
		}
	}, nil)
}

// endAttempt gives the caller the outcome, unless it has one already, and tells the driver
// of its process the location of the key.
func (t *attempt) endAttempt(h placement.Holder, err error) {
	c, p := t.call, t.call.origin
	if c.current != t {
		return
	}
	c.current = nil
	if err == nil && h.Owner != p.owner {
		p.driver.Learn(c.key, h)
	}
	c.endOrRetry(h, err)
}

// endOrRetry ends the call, or tries again.
func (c *call) endOrRetry(h placement.Holder, err error) {
	p := c.origin
	switch {
	case err == nil:
		p.world.oracle.counts.Handled++
		c.done(h, nil)
	case p.world.Now() >= c.by || p.leaving:
		c.done(h, errors.Join(errGivenUp, err))
	default:
		p.after(p.dice(aboutMessage).between(0, 200*time.Millisecond), c.startAttempt)
	}
}
