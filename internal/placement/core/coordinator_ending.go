// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/recency"
	"github.com/kazahana-db/kazahana/placement"
)

// Bounds of the work of one call, so that a driver is not flooded and a caller of
// Resolve does not wait for long.
const (
	retriesPerTick = 1000
	checksPerTick  = 4096 // of activations, when MovesPerTick is set
	endsPerCall    = 10_000
)

// Tick answers resolves that have waited for too long, repeats steps that have failed,
// and moves activations. A driver calls it about once a second, also while the
// coordinator is stopped and still holds something.
func (c *Coordinator) Tick(now time.Time) Outcome {
	c.beginCall(now)
	retries := 0
	for n := c.works.Oldest(); n != nil; n = n.Next() {
		w := n.Value
		if w.wait.id != 0 && c.clock-w.wait.began >= c.o.RequestTimeout {
			c.timeOut(w)
		}
		if w.retryAt != 0 && w.retryAt <= c.clock && retries < retriesPerTick {
			retries++
			c.retryStep(w)
		}
	}
	c.moveSome()
	return c.out
}

// timeOut answers the resolves that wait for a work with a timeout. The work goes on, and
// gives back what it acquires, unless another resolve waits for it by then.
func (c *Coordinator) timeOut(w *work) {
	c.emit(placement.Event{Kind: placement.TimedOut, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.wait.id, Reason: w.step.String()})
	c.answerWaiters(w, Resolution{}, fmt.Errorf("%w: %s waits for %s since %v", placement.ErrTimeout, w.key, w.step, c.clock-w.wait.began))
}

func (c *Coordinator) moveSome() {
	if c.state != placement.StateMember {
		return
	}
	for checks, moves := 0, 0; checks < checksPerTick && moves < c.o.MovesPerTick; checks++ {
		n := c.active.NextScan()
		if n == nil {
			return
		}
		if !c.belongsHere(n) {
			moves++
			c.moveAway(n)
		}
	}
}

// PassivateIdle begins to end the activations that were not used for a time, up
// to 10,000 in a call, the longest idle ones first.
func (c *Coordinator) PassivateIdle(now time.Time, idle time.Duration) Outcome {
	c.beginCall(now)
	for range endsPerCall {
		n := c.active.Oldest()
		if c.state != placement.StateMember || n == nil || c.clock-n.Value.used < idle {
			break
		}
		c.endActivation(n, placement.CauseIdle, fmt.Sprintf("it was not used for %v", c.clock-n.Value.used))
	}
	return c.out
}

// Passivate begins to end the activation of a key if it has the epoch: because it asked
// for its end, or has ended by itself. The executor may refuse, as for idle activations.
func (c *Coordinator) Passivate(key placement.Key, epoch int64, now time.Time) Outcome {
	c.beginCall(now)
	if n := c.active.Get(key); n != nil && n.Value.epoch == epoch && c.state == placement.StateMember {
		c.endActivation(n, placement.CauseIdle, "it asked for it")
	}
	return c.out
}

// Use says that an activation is used. Callers also say so when a call ends.
func (c *Coordinator) Use(key placement.Key, epoch int64, now time.Time) {
	c.beginCall(now)
	if n := c.active.Get(key); n != nil && n.Value.epoch == epoch {
		c.markUsed(n)
	}
}

// Stop makes the coordinator refuse resolves, and answers waiting ones with [placement.ErrStopped].
// It begins to give everything back, up to 10,000 keys at a time: results of commands
// bring more commands, until [Coordinator.Held] is 0. Steps that have failed are tried again
// in the next tick, and from then on at least every four seconds.
// The error is [placement.ErrStopped], or [placement.ErrDead], if the coordinator is stopped already.
func (c *Coordinator) Stop(now time.Time) (Outcome, error) {
	c.beginCall(now)
	if c.state == placement.StateStopped {
		return c.out, c.refusal()
	}
	c.state = placement.StateStopped
	c.emit(placement.Event{Kind: placement.Stopped, Owner: c.o.Self})
	for n := c.works.Oldest(); n != nil; n = n.Next() {
		c.answerWaiters(n.Value, Resolution{}, placement.ErrStopped)
		if n.Value.cause == placement.CauseIdle {
			n.Value.cause = placement.CauseStop
		}
		c.advanceRetry(n.Value)
	}
	c.endSome()
	return c.out, nil
}

// endSome ends activations of a coordinator that is stopped.
func (c *Coordinator) endSome() {
	for n := c.active.Oldest(); n != nil && c.works.Len() < endsPerCall; n = c.active.Oldest() {
		c.endActivation(n, placement.CauseStop, "the coordinator stops")
	}
}

// LoseAll says that others take this member for dead: they may have activated
// what it holds. Every activation ends with [placement.CauseLost], nothing is removed, and the coordinator
// is stopped for good: its errors are [placement.ErrDead] from now on.
func (c *Coordinator) LoseAll(now time.Time) Outcome {
	c.beginCall(now)
	c.loseAll("the program says so")
	return c.out
}

func (c *Coordinator) loseAll(reason string) {
	if c.dead != "" {
		return
	}
	c.dead, c.state = reason, placement.StateStopped
	c.emit(placement.Event{Kind: placement.Lost, Owner: c.o.Self, Reason: reason})
	c.emit(placement.Event{Kind: placement.Stopped, Owner: c.o.Self, Reason: reason})
	for n := c.works.Oldest(); n != nil; {
		w := n.Value
		n = n.Next()
		c.loseWork(w)
	}
	for n := c.active.Oldest(); n != nil; n = c.active.Oldest() {
		c.endActivation(n, placement.CauseLost, reason)
	}
}

// loseWork answers the resolves that wait for a work, and ends the work if no command
// of it is under way.
func (c *Coordinator) loseWork(w *work) {
	c.answerWaiters(w, Resolution{}, placement.ErrDead)
	w.lost = true
	if w.made {
		w.cause = placement.CauseLost
	}
	if w.retryAt != 0 {
		c.finishWork(w)
	}
}

// LoseActivation says that another owner may have the key: a fence has refused the
// epoch. The activation ends with [placement.CauseLost], and its entry is not removed.
func (c *Coordinator) LoseActivation(key placement.Key, epoch int64, now time.Time) Outcome {
	c.beginCall(now)
	c.loseEpoch(key, epoch, "its fence is not in force any more")
	return c.out
}

func (c *Coordinator) loseEpoch(key placement.Key, epoch int64, reason string) {
	e := placement.Event{Kind: placement.Lost, Key: key, Owner: c.o.Self, Epoch: epoch, Reason: reason}
	if n := c.active.Get(key); n != nil && n.Value.epoch == epoch {
		c.emit(e)
		c.endActivation(n, placement.CauseLost, reason)
		return
	}
	if w := c.workOfKey(key); w != nil && w.lease.Epoch == epoch && w.step <= deactivating && !w.lost {
		c.emit(e)
		w.lost = true
		if w.made {
			w.cause = placement.CauseLost
		}
	}
}

// putInUse puts a stored activation in use.
func (c *Coordinator) putInUse(w *work) {
	n := &recency.Node[placement.Key, activation]{Key: w.key, Value: activation{
		epoch: w.lease.Epoch, topology: w.topology, checked: w.generation, used: c.clock, pid: w.record.PID,
	}}
	if place := c.places.Get(w.key); place != nil {
		c.evictPlace(place, "it is active here")
	}
	c.active.Add(n)
	c.emit(placement.Event{Kind: placement.Activated, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, PID: n.Value.pid, Request: w.id, Topology: w.topology})
	c.answerWaiters(w, c.localResolution(n), nil)
	if w.lease.Kept {
		c.finishWork(w)
		return
	}
	c.detachWork(w)
	w.single = true
	c.commandRelease(w)
}

// failRequest ends a request with an error.
func (c *Coordinator) failRequest(w *work, err error) {
	c.answerWaiters(w, Resolution{}, err)
	c.giveBack(w)
}

// redirectRequest ends a request for a key that another member has or should have.
func (c *Coordinator) redirectRequest(w *work, d placement.Decision, h placement.Holder) {
	w.cause = placement.CauseMove
	c.answerWaiters(w, c.remoteResolution(d, h), nil)
	c.giveBack(w)
}

// giveBack gives back what a request has acquired.
func (c *Coordinator) giveBack(w *work) {
	switch {
	case w.lost || c.dead != "":
		w.cause = placement.CauseLost
	case c.state == placement.StateStopped:
		w.cause = placement.CauseStop
	case w.cause == 0:
		w.cause = placement.CauseFailed
	}
	if w.made {
		c.commandDeactivate(w)
		return
	}
	c.commandRelease(w)
}

// endActivation begins to end an activation in use.
func (c *Coordinator) endActivation(n *recency.Node[placement.Key, activation], cause placement.Cause, reason string) *work {
	c.active.Remove(n)
	w := c.beginWork(n.Key, c.nextID())
	w.used, w.made, w.sure, w.cause = n, true, true, cause
	w.lease = Lease{Key: n.Key, Owner: c.o.Self, Epoch: n.Value.epoch}
	w.idleSince = c.now.Add(n.Value.used - c.clock)
	c.emit(placement.Event{Kind: placement.Draining, Key: n.Key, Owner: c.o.Self, Epoch: n.Value.epoch, PID: n.Value.pid, Request: w.id, Reason: reason})
	c.commandDeactivate(w)
	return w
}

// moveAway ends an activation that belongs to another member.
func (c *Coordinator) moveAway(n *recency.Node[placement.Key, activation]) *work {
	d, _ := c.decideHeld(n.Key)
	c.emit(placement.Event{Kind: placement.Moved, Key: n.Key, Owner: d.Authority, Epoch: n.Value.epoch, Reason: "the topology has changed"})
	return c.endActivation(n, placement.CauseMove, "it moves")
}

func (c *Coordinator) commandDeactivate(w *work) {
	w.step, w.asked = deactivating, w.cause
	d := Deactivate{RequestID: w.id, Key: w.key, Epoch: w.lease.Epoch, Cause: w.cause}
	if w.cause == placement.CauseIdle {
		d.IdleSince = w.idleSince
	}
	c.addCommand(d)
}

func (c *Coordinator) handleDeactivated(w *work, r ActivationDeactivated) {
	refused := !r.UsedAt.IsZero() && r.Err == nil
	switch {
	case !in(w, deactivating) || w.lease.Epoch != r.Epoch:
		if refused {
			c.returnActivation(w, ActivationEnsured{Key: r.Key, Epoch: r.Epoch})
		}
	case r.Err != nil && w.asked == placement.CauseIdle: // it may be in use, or not: it must end now
		if w.cause == placement.CauseIdle {
			w.cause = placement.CauseFailed
		}
		c.commandDeactivate(w)
	case refused && w.asked != placement.CauseIdle: // the result of the command before, late or twice: this command cannot be refused
	case !refused:
		c.handleEnd(w, r.Err)
	case w.cause == placement.CauseIdle:
		c.keepActivation(w)
	default: // there is another reason by now: it must end all the same
		c.commandDeactivate(w)
	}
}

// handleEnd continues a work after its activation has ended.
func (c *Coordinator) handleEnd(w *work, err error) {
	e := placement.Event{Kind: placement.Deactivated, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: w.cause.String()}
	if err != nil {
		e.Reason += ": " + err.Error()
	}
	c.emit(e)
	c.noteEpoch(w.key, w.lease.Epoch)
	switch {
	case w.single || w.cause == placement.CauseLost:
		c.finishWork(w)
	case w.used != nil:
		c.commandRemove(w)
	default:
		c.commandRelease(w)
	}
}

// keepActivation puts an activation back in use that was to end because it was idle, but
// was used in the meantime.
func (c *Coordinator) keepActivation(w *work) {
	n, waiting := w.used, w.wait
	w.used, w.wait = nil, wait{}
	c.finishWork(w)
	n.Value.used = c.clock
	c.active.Add(n)
	c.emit(placement.Event{Kind: placement.Kept, Key: n.Key, Owner: c.o.Self, Epoch: n.Value.epoch, PID: n.Value.pid, Request: w.id})
	switch {
	case waiting.id == 0:
	case c.belongsHere(n):
		c.answerWaiters(&work{key: n.Key, wait: waiting}, c.localResolution(n), nil)
	default:
		c.addWaiters(c.moveAway(n), waiting)
	}
}

// commandRelease gives the lease of a request back. A dead member gives nothing back:
// homes know that it is dead.
func (c *Coordinator) commandRelease(w *work) {
	if c.dead != "" {
		c.finishWork(w)
		return
	}
	w.step, w.retryAt = releasing, 0
	c.addCommand(Release{RequestID: w.id, Key: w.key, Lease: w.lease})
}

func (c *Coordinator) handleReleased(w *work, r LockReleased) {
	switch {
	case !in(w, releasing) || w.lease.Epoch != r.Epoch:
	case isUncertain(r.Err):
		c.emit(placement.Event{Kind: placement.ReleaseFailed, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: r.Err.Error()})
		c.retryLater(w)
	case w.stored && !w.lease.Kept && !w.single:
		c.commandRemove(w) // no store of this epoch can happen any more; one may have
	default:
		c.finishWork(w)
	}
}

// isUncertain reports whether a release or a removal may not have happened. A
// stale one has nothing left to do.
func isUncertain(err error) bool { return err != nil && !errors.Is(err, placement.ErrStale) }

// commandRemove removes the entry of an activation, unless this member is dead.
func (c *Coordinator) commandRemove(w *work) {
	if c.dead != "" {
		c.finishWork(w)
		return
	}
	w.step, w.retryAt = removing, 0
	c.addCommand(RemoveActivation{RequestID: w.id, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch})
}

func (c *Coordinator) handleRemoved(w *work, r ActivationRemoved) {
	switch {
	case !in(w, removing) || w.lease.Epoch != r.Epoch:
	case isUncertain(r.Err):
		c.emit(placement.Event{Kind: placement.StorageFailed, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.id, Reason: r.Err.Error()})
		c.retryLater(w)
	default:
		c.finishWork(w)
	}
}

// The time after which a step is tried again: it doubles with each failure. A program
// waits for a coordinator that is stopped, often for less than half a minute.
const (
	firstRetry       = time.Second
	mostRetry        = time.Minute
	mostRetryStopped = 4 * time.Second
)

// retryLater repeats a step of a work in later ticks, for as long as the coordinator
// lives: a lease that is not given back keeps the key from all other members. Resolves do
// not wait for it. They can claim the key anew, which ends the lease.
func (c *Coordinator) retryLater(w *work) {
	if c.dead != "" {
		c.finishWork(w)
		return
	}
	w.retryAt = c.clock + min(firstRetry<<min(w.failures, 10), c.longestRetry())
	w.failures++
	if waiting := w.wait; waiting.id != 0 {
		w.wait = wait{}
		c.detachWork(w)
		c.restartWaiters(w.key, waiting)
	}
}

// longestRetry returns the longest pause before a step is tried again.
func (c *Coordinator) longestRetry() time.Duration {
	if c.state == placement.StateStopped {
		return mostRetryStopped
	}
	return mostRetry
}

// advanceRetry has the next tick try a failed step again. A step that is under way has
// the retryAt 0 and goes on.
func (c *Coordinator) advanceRetry(w *work) {
	w.retryAt = min(w.retryAt, max(c.clock, 1))
}

// retryStep tries the step of a work again.
func (c *Coordinator) retryStep(w *work) {
	switch w.step {
	case acquiring:
		c.commandAcquire(w)
	case releasing:
		c.commandRelease(w)
	case removing:
		c.commandRemove(w)
	}
}
