// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/placement/internal/recency"
)

// activate puts an activation that is stored in use.
func (c *Coordinator) activate(w *work) {
	n := &recency.Node[Key, activation]{Key: w.key, Value: activation{
		epoch: w.lease.Epoch, topology: w.topology, checked: w.generation, used: c.clock, pid: w.record.PID,
	}}
	if place := c.places.Get(w.key); place != nil {
		c.evict(place, "it is active here")
	}
	c.active.Add(n)
	c.emit(Event{Kind: Activated, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, PID: n.Value.pid, Request: w.id, Topology: w.topology})
	c.answer(w, c.local(n), nil)
	if w.lease.Kept {
		c.finish(w)
		return
	}
	c.detach(w)
	w.single = true
	c.release(w)
}

// fail ends a request with an error.
func (c *Coordinator) fail(w *work, err error) {
	c.answer(w, Resolution{}, err)
	c.giveBack(w)
}

// redirect ends a request of a key that another member has or is to have.
func (c *Coordinator) redirect(w *work, d Decision, h Holder) {
	w.cause = CauseMove
	c.answer(w, c.remote(d, h), nil)
	c.giveBack(w)
}

// giveBack gives back what a request has acquired.
func (c *Coordinator) giveBack(w *work) {
	switch {
	case w.lost || c.dead != "":
		w.cause = CauseLost
	case c.state == StateStopped:
		w.cause = CauseStop
	case w.cause == 0:
		w.cause = CauseFailed
	}
	if w.made {
		c.deactivate(w)
		return
	}
	c.release(w)
}

// end begins to end an activation in use.
func (c *Coordinator) end(n *recency.Node[Key, activation], cause Cause, reason string) *work {
	c.active.Remove(n)
	w := c.begin(n.Key, c.nextID())
	w.used, w.made, w.sure, w.cause = n, true, true, cause
	w.lease = Lease{Key: n.Key, Owner: c.o.Self, Epoch: n.Value.epoch}
	w.idleSince = c.now.Add(n.Value.used - c.clock)
	c.emit(Event{Kind: Draining, Key: n.Key, Owner: c.o.Self, Epoch: n.Value.epoch, PID: n.Value.pid, Request: w.id, Reason: reason})
	c.deactivate(w)
	return w
}

// move ends an activation that belongs to another member.
func (c *Coordinator) move(n *recency.Node[Key, activation]) *work {
	d, _ := c.decideFor(n.Key)
	c.emit(Event{Kind: Moved, Key: n.Key, Owner: d.Authority, Epoch: n.Value.epoch, Reason: "the topology has changed"})
	return c.end(n, CauseMove, "it moves")
}

func (c *Coordinator) deactivate(w *work) {
	w.step, w.asked = deactivating, w.cause
	d := Deactivate{RequestID: w.id, Key: w.key, Epoch: w.lease.Epoch, Cause: w.cause}
	if w.cause == CauseIdle {
		d.IdleSince = w.idleSince
	}
	c.command(d)
}

func (c *Coordinator) deactivated(w *work, r ActivationDeactivated) {
	refused := !r.UsedAt.IsZero() && r.Err == nil
	switch {
	case !in(w, deactivating) || w.lease.Epoch != r.Epoch:
		if refused {
			c.returnActivation(w, ActivationEnsured{Key: r.Key, Epoch: r.Epoch})
		}
	case r.Err != nil && w.asked == CauseIdle: // it may be in use, or not: it must end now
		if w.cause == CauseIdle {
			w.cause = CauseFailed
		}
		c.deactivate(w)
	case refused && w.asked != CauseIdle: // of the command before, late or twice: this one cannot be refused
	case !refused:
		c.gone(w, r.Err)
	case w.cause == CauseIdle:
		c.keep(w)
	default: // it must end all the same: a reason came meanwhile
		c.deactivate(w)
	}
}

// gone goes on after an activation has ended.
func (c *Coordinator) gone(w *work, err error) {
	e := Event{Kind: Deactivated, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: w.cause.String()}
	if err != nil {
		e.Reason += ": " + err.Error()
	}
	c.emit(e)
	c.noteEpoch(w.key, w.lease.Epoch)
	switch {
	case w.single || w.cause == CauseLost:
		c.finish(w)
	case w.used != nil:
		c.remove(w)
	default:
		c.release(w)
	}
}

// keep puts an activation back in use that was to end for idleness, and was used
// meanwhile.
func (c *Coordinator) keep(w *work) {
	n, waiting := w.used, w.wait
	w.used, w.wait = nil, wait{}
	c.finish(w)
	n.Value.used = c.clock
	c.active.Add(n)
	c.emit(Event{Kind: Kept, Key: n.Key, Owner: c.o.Self, Epoch: n.Value.epoch, PID: n.Value.pid, Request: w.id})
	switch {
	case waiting.id == 0:
	case c.belongs(n):
		c.answer(&work{key: n.Key, wait: waiting}, c.local(n), nil)
	default:
		c.open(c.move(n), waiting)
	}
}

// release gives the lease of a request back. Homes know of a member that is dead.
func (c *Coordinator) release(w *work) {
	if c.dead != "" {
		c.finish(w)
		return
	}
	w.step, w.retryAt = releasing, 0
	c.command(Release{RequestID: w.id, Key: w.key, Lease: w.lease})
}

func (c *Coordinator) released(w *work, r LockReleased) {
	switch {
	case !in(w, releasing) || w.lease.Epoch != r.Epoch:
	case isUncertain(r.Err):
		c.emit(Event{Kind: ReleaseFailed, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: r.Err.Error()})
		c.retryLater(w)
	case w.stored && !w.lease.Kept && !w.single:
		c.remove(w) // no store of this epoch can happen any more; one may have
	default:
		c.finish(w)
	}
}

// isUncertain reports whether a release or a removal may not have happened. A
// stale one has nothing left to do.
func isUncertain(err error) bool { return err != nil && !errors.Is(err, ErrStale) }

// remove removes the entry of an activation. Homes know of a member that is dead.
func (c *Coordinator) remove(w *work) {
	if c.dead != "" {
		c.finish(w)
		return
	}
	w.step, w.retryAt = removing, 0
	c.command(RemoveActivation{RequestID: w.id, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch})
}

func (c *Coordinator) removed(w *work, r ActivationRemoved) {
	switch {
	case !in(w, removing) || w.lease.Epoch != r.Epoch:
	case isUncertain(r.Err):
		c.emit(Event{Kind: StorageFailed, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: r.Err.Error()})
		c.retryLater(w)
	default:
		c.finish(w)
	}
}

// The time after which a step is tried again: it doubles with each failure.
const (
	firstRetry = time.Second
	mostRetry  = time.Minute
)

// retryLater tries a step of a work again in a later tick, for as long as the
// coordinator lives: what is not given back keeps the key from all other
// members. Resolves do not wait for it. They can claim the key anew, which ends the lease.
func (c *Coordinator) retryLater(w *work) {
	if c.dead != "" {
		c.finish(w)
		return
	}
	w.retryAt = c.clock + min(firstRetry<<min(w.failures, 10), mostRetry)
	w.failures++
	if waiting := w.wait; waiting.id != 0 {
		w.wait = wait{}
		c.detach(w)
		c.follow(w.key, waiting)
	}
}

// retry tries the step of a work again.
func (c *Coordinator) retry(w *work) {
	switch w.step {
	case acquiring:
		c.acquire(w)
	case releasing:
		c.release(w)
	case removing:
		c.remove(w)
	}
}
