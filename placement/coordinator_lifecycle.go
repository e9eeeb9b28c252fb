// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"time"
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
	err := &TimeoutError{Key: w.key, Step: w.step.String(), After: c.clock - w.wait.began}
	c.emit(Event{Kind: TimedOut, Key: w.key, Owner: c.o.Self, Epoch: w.lease.Epoch, Request: w.wait.id, Reason: err.Step})
	c.answerWaiters(w, Resolution{}, err)
}

func (c *Coordinator) moveSome() {
	if c.state != StateMember {
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
		if c.state != StateMember || n == nil || c.clock-n.Value.used < idle {
			break
		}
		c.endActivation(n, CauseIdle, fmt.Sprintf("it was not used for %v", c.clock-n.Value.used))
	}
	return c.out
}

// Passivate begins to end the activation of a key if it has the epoch: because it asked
// for its end, or has ended by itself. The executor may refuse, as for idle activations.
func (c *Coordinator) Passivate(key Key, epoch int64, now time.Time) Outcome {
	c.beginCall(now)
	if n := c.active.Get(key); n != nil && n.Value.epoch == epoch && c.state == StateMember {
		c.endActivation(n, CauseIdle, "it asked for it")
	}
	return c.out
}

// Use says that an activation is used. Callers also say so when a call ends.
func (c *Coordinator) Use(key Key, epoch int64, now time.Time) {
	c.beginCall(now)
	if n := c.active.Get(key); n != nil && n.Value.epoch == epoch {
		c.markUsed(n)
	}
}

// Stop makes the coordinator refuse resolves, and answers waiting ones with [ErrStopped].
// It begins to give everything back, up to 10,000 keys at a time: results of commands
// bring more commands, until [Coordinator.Held] is 0. Steps that have failed are tried again
// in the next tick, and from then on at least every four seconds.
// The error is [ErrStopped], or [ErrDead], if the coordinator is stopped already.
func (c *Coordinator) Stop(now time.Time) (Outcome, error) {
	c.beginCall(now)
	if c.state == StateStopped {
		return c.out, c.refusal()
	}
	c.state = StateStopped
	c.emit(Event{Kind: Stopped, Owner: c.o.Self})
	for n := c.works.Oldest(); n != nil; n = n.Next() {
		c.answerWaiters(n.Value, Resolution{}, ErrStopped)
		if n.Value.cause == CauseIdle {
			n.Value.cause = CauseStop
		}
		c.advanceRetry(n.Value)
	}
	c.endSome()
	return c.out, nil
}

// endSome ends activations of a coordinator that is stopped.
func (c *Coordinator) endSome() {
	for n := c.active.Oldest(); n != nil && c.works.Len() < endsPerCall; n = c.active.Oldest() {
		c.endActivation(n, CauseStop, "the coordinator stops")
	}
}

// LoseAll says that others take this member for dead: they may have activated
// what it holds. Every activation ends with [CauseLost], nothing is removed, and the coordinator
// is stopped for good: its errors are [ErrDead] from now on.
func (c *Coordinator) LoseAll(now time.Time) Outcome {
	c.beginCall(now)
	c.loseAll("the program says so")
	return c.out
}

func (c *Coordinator) loseAll(reason string) {
	if c.dead != "" {
		return
	}
	c.dead, c.state = reason, StateStopped
	c.emit(Event{Kind: Lost, Owner: c.o.Self, Reason: reason})
	c.emit(Event{Kind: Stopped, Owner: c.o.Self, Reason: reason})
	for n := c.works.Oldest(); n != nil; {
		w := n.Value
		n = n.Next()
		c.loseWork(w)
	}
	for n := c.active.Oldest(); n != nil; n = c.active.Oldest() {
		c.endActivation(n, CauseLost, reason)
	}
}

// loseWork answers the resolves that wait for a work, and ends the work if no command
// of it is under way.
func (c *Coordinator) loseWork(w *work) {
	c.answerWaiters(w, Resolution{}, ErrDead)
	w.lost = true
	if w.made {
		w.cause = CauseLost
	}
	if w.retryAt != 0 {
		c.finishWork(w)
	}
}

// LoseActivation says that another owner may have the key: a fence has refused the
// epoch. The activation ends with [CauseLost], and its entry is not removed.
func (c *Coordinator) LoseActivation(key Key, epoch int64, now time.Time) Outcome {
	c.beginCall(now)
	c.loseEpoch(key, epoch, "its fence is not in force any more")
	return c.out
}

func (c *Coordinator) loseEpoch(key Key, epoch int64, reason string) {
	e := Event{Kind: Lost, Key: key, Owner: c.o.Self, Epoch: epoch, Reason: reason}
	if n := c.active.Get(key); n != nil && n.Value.epoch == epoch {
		c.emit(e)
		c.endActivation(n, CauseLost, reason)
		return
	}
	if w := c.workOfKey(key); w != nil && w.lease.Epoch == epoch && w.step <= deactivating && !w.lost {
		c.emit(e)
		w.lost = true
		if w.made {
			w.cause = CauseLost
		}
	}
}
