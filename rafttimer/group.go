// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"math"
	"sync/atomic"
	"time"
)

// Group has the timers of one Raft group's member in this process. Its methods are those of
// [Driver] but for Events and the verbs of single timers, with the same guarantees: when a method that stops or starts timers or changes the
// role has returned, the handler does not run for an earlier event of the group, nor will it; the method waits
// for a handler that runs. Only a call from inside of the handler, for whichever group, does not wait. So do
// not hold a lock that the handler needs while calling such a method.
//
// After Close, of the group or of the Mux, the methods that can say so return [ErrClosed];
// the others do nothing.
type Group[T any] struct {
	shard   *shard[T]
	contact *contactTime // what a Contact reads stands at the beginning, in one cache line
	state   atomic.Uint32
	index   uint32 // in the shard
	value   T
	machine Machine // guarded by shard.turn
}

// States of a group, which a contact asks for.
const (
	ready   = iota // a contact moves the contact time
	backoff        // it ends a back-off, and may bring the deadline forward
	closed
)

// Value returns what [Mux.NewGroup] was given.
func (g *Group[T]) Value() T { return g.value }

// BecomeFollower is [Machine.BecomeFollower].
func (g *Group[T]) BecomeFollower() error { return g.changeRole((*Machine).BecomeFollower) }

// BecomeCandidate is [Machine.BecomeCandidate].
func (g *Group[T]) BecomeCandidate() error { return g.changeRole((*Machine).BecomeCandidate) }

// BecomeLeader is [Machine.BecomeLeader].
func (g *Group[T]) BecomeLeader() error { return g.changeRole((*Machine).BecomeLeader) }

// StopAll is [Machine.StopAll].
func (g *Group[T]) StopAll() error {
	return g.changeRole(func(m *Machine, _ time.Duration) { m.StopAll() })
}

func (g *Group[T]) changeRole(role func(*Machine, time.Duration)) error {
	g.shard.turn.Lock(g)
	defer g.shard.turn.Unlock()
	if g.state.Load() == closed {
		return ErrClosed
	}
	g.learnContact()
	known := g.contact.Load()
	now := g.shard.mux.Now()
	role(&g.machine, now)
	if g.machine.State().ElectionTimeout {
		g.contact.resetUnlessHeard(now, known)
	}
	g.shard.updateBlock(g)
	return nil
}

// Contact says that the node has heard from a valid leader of the group just now: the election timeout counts
// anew. It waits for no handler and allocates nothing: it reads the monotonic clock and moves a number. Only one
// that ends a back-off takes the shard's lock.
func (g *Group[T]) Contact() { g.ContactAt(g.shard.mux.Now()) }

// ContactAt is Contact at a time of [Mux.Now], so that one reading of the clock serves all groups of
// which a message speaks. A time before that of the latest contact or role change has no effect. One
// that lies ahead is taken as it is: the timeout counts from then.
func (g *Group[T]) ContactAt(at time.Duration) {
	if g.state.Load() == closed {
		return
	}
	g.contact.noteContact(at)
	if g.state.Load() == backoff {
		g.endBackoff()
	}
}

// endBackoff moves the deadline after the contact. The caller sees a back-off
// that began before the contact was noted; a back-off that begins later sees
// the contact. Each is read after an atomic write of the other.
func (g *Group[T]) endBackoff() {
	g.shard.turn.LockNow()
	defer g.shard.turn.Unlock()
	if g.state.Load() == backoff {
		g.catchUp()
		g.shard.updateBlock(g)
	}
}

// ObserveBroadcast is [Machine.ObserveBroadcast].
func (g *Group[T]) ObserveBroadcast(took time.Duration) {
	g.shard.turn.LockNow()
	defer g.shard.turn.Unlock()
	if g.state.Load() != closed {
		g.catchUp()
		g.machine.ObserveBroadcast(took)
		g.shard.updateBlock(g)
	}
}

// State tells which timers run.
func (g *Group[T]) State() TimerState {
	g.shard.turn.LockNow()
	defer g.shard.turn.Unlock()
	return g.machine.State()
}

// Role returns the role; NoRole after Close.
func (g *Group[T]) Role() Role {
	g.shard.turn.LockNow()
	defer g.shard.turn.Unlock()
	return g.machine.Role()
}

// IsCurrent reports whether nothing has made the event stale since: see [Machine.IsCurrent].
func (g *Group[T]) IsCurrent(e Event) bool {
	g.shard.turn.LockNow()
	defer g.shard.turn.Unlock()
	g.learnContact()
	return g.state.Load() != closed && g.machine.IsCurrent(e)
}

// Close stops the timers and takes the group out of the Mux. Closing again does nothing. It returns nil.
func (g *Group[T]) Close() error {
	g.shard.turn.Lock(g)
	defer g.shard.turn.Unlock()
	if g.state.Load() != closed {
		g.shard.removeGroup(g)
	}
	return nil
}

// learnContact tells the machine of the latest contact.
func (g *Group[T]) learnContact() {
	if at, ok := g.contact.takeContact(); ok {
		g.machine.Contact(at)
	}
}

// catchUp tells the machine the time and the latest contact. It is called
// before a change that brings the deadline forward: a deadline in the past
// would look as if the shard had missed it.
func (g *Group[T]) catchUp() {
	now := g.shard.mux.Now()
	g.machine.NoteStall(nil, now, 0) // no stall, but the time
	g.keepAhead(now)
	g.learnContact()
}

// keepAhead notes a contact that lies ahead once more: the machine has moved it
// back to now.
func (g *Group[T]) keepAhead(now time.Duration) {
	if since := g.contact.since(); since > now {
		g.machine.Contact(since)
	}
}

// planLook returns when to look at the group, its deadline and its state.
func (g *Group[T]) planLook() (span, time.Duration, uint32) {
	deadline, ok := g.machine.NextDeadline()
	heard := g.machine.ContactTimeout()
	switch {
	case !ok:
		return 0, 0, ready
	case heard == 0: // heartbeats
		return -span(deadline), deadline, ready
	case g.contact.since()+heard < deadline:
		return -span(deadline), deadline, backoff
	}
	return span(heard), deadline, ready
}

// contactTime is the time since which the election timeout of a group counts: twice the time of the latest
// contact or of its arming, plus one if that is a contact which the machine does not know of. It only grows while the
// timeout runs.
type contactTime struct{ atomic.Int64 }

// latestContact bounds the times of contacts, so that a deadline never overflows.
const latestContact = time.Duration(math.MaxInt64 / 4)

// noteContact notes a contact.
func (p *contactTime) noteContact(at time.Duration) {
	p.raiseTo(2*int64(min(max(at, -1), latestContact)) + 1)
}

// restartAt says that the timeout counts from a time unless a later contact was noted.
func (p *contactTime) restartAt(at time.Duration) { p.raiseTo(2 * int64(at)) }

func (p *contactTime) raiseTo(to int64) {
	for {
		old := p.Load()
		if old >= to || p.CompareAndSwap(old, to) {
			return
		}
	}
}

// resetUnlessHeard says that the timeout counts from a time, whatever the contact time was when it was known, unless a later contact
// was noted since.
func (p *contactTime) resetUnlessHeard(at time.Duration, known int64) {
	if !p.CompareAndSwap(known, 2*int64(at)) {
		p.restartAt(at)
	}
}

// since returns the time since which the timeout counts.
func (p *contactTime) since() time.Duration { return time.Duration(p.Load() >> 1) }

// takeContact returns the time of the latest contact, and false if it was taken before, or if there was none since
// the arming.
func (p *contactTime) takeContact() (time.Duration, bool) {
	noted := p.Load()
	if noted&1 != 0 {
		p.CompareAndSwap(noted, noted-1) // if it fails, there is a later one for the next call
	}
	return time.Duration(noted >> 1), noted&1 != 0
}

// blockSize is the number of groups of a block: as many contacts as fit into a cache line.
const blockSize = 8

// groupBlock holds the fields of eight groups that are read and written most
// often, in two cache lines, apart from the groups themselves. The groups have
// one entry in the wheel, for the earliest of their deadlines. The cost of a
// look is the transfer of the cache line that contacts have written on another
// processor; one transfer serves all eight groups; their deadlines move on
// together if their leaders are alive.
type groupBlock struct {
	contacts [blockSize]contactTime
	spans    [blockSize]span
}

// span says when a group is looked at. If it is positive, it is that long after the group's contact time; if
// it is negative, the time is its amount; 0: no timer runs.
type span time.Duration

// deadline returns the time before which nothing of a group is due; false if no timer runs.
func (w *groupBlock) deadline(i uint32) (time.Duration, bool) {
	switch s := w.spans[i]; {
	case s > 0:
		return w.contacts[i].since() + time.Duration(s), true
	default:
		return time.Duration(-s), s != 0
	}
}

// lookUpDue returns which groups are due, a bit for each, and the earliest deadline of the others; noDeadline if
// they have none.
func (w *groupBlock) lookUpDue(now time.Duration) (due uint8, next time.Duration) {
	next = noDeadline
	for i := range uint32(blockSize) {
		switch deadline, ok := w.deadline(i); {
		case !ok:
		case deadline <= now:
			due |= 1 << i
		default:
			next = min(next, deadline)
		}
	}
	return due, next
}
