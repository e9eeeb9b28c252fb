// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
)

// maxLeaseWait is how long Next waits for a lease that is there but begins
// later, because this machine's clock is behind that of the provider.
const maxLeaseWait = 5 * time.Second

// takeSlow gets an ID where nextNow cannot: it moves the cursor to a new
// millisecond, waits for one when the current one is used up, changes eras, and
// handles wrong clocks.
//
// The word is read before the clock. So a clock behind the word was set back;
// another goroutine cannot have moved the word meanwhile.
func (c *Client) takeSlow(ctx context.Context, want uint64) (e *era, first, got uint64, err error) {
	wait := waitState{ctx: ctx, ended: ctx.Err() != nil}
	for {
		e = c.era.Load()
		word := e.word.Load()
		if e.replaced.Load() && e.mode != closed {
			runtime.Gosched() // the next era is there at once
			continue
		}
		r := c.clock.read()
		if r.isAhead() {
			r = c.handleJump()
		}
		if first, got, err = c.takeStep(e, word, r, want, &wait); err != nil || got > 0 {
			return e, first, got, err
		}
	}
}

// takeStep acts on one reading of the cursor and the clock. It returns no
// positions if it had to wait.
func (c *Client) takeStep(e *era, word uint64, r clockSample, want uint64, wait *waitState) (first, got uint64, err error) {
	ts, last := r.ms-e.epoch, int64(word>>e.shift)
	if e.mode != closed && last > 0 && ts < last { // even if the clock is before the epoch now
		return 0, 0, c.waitBehind(e, word, last-ts, wait)
	}
	if e.makesIDs() {
		if err := e.layout.check(ts); err != nil {
			return 0, 0, err
		}
	}
	switch {
	case !e.covers(r.ms):
		return 0, 0, c.advanceEra(e, r, wait)
	case ts > last:
		if first, got = e.enterMs(word, uint64(ts), want); got > 0 {
			c.noteEntered(e, word, r)
		}
		return first, got, nil
	case e.remaining(word) > 0:
		first, got = e.takeRange(uint64(ts), math.MaxUint64, want)
		return first, got, nil
	default:
		return 0, 0, c.yieldFull(e, word, wait)
	}
}

// noteEntered is called after the caller has moved the cursor from word to a
// new millisecond.
func (c *Client) noteEntered(e *era, word uint64, r clockSample) {
	if !r.isAhead() {
		c.clock.trust(r)
	}
	if c.behind.Load() {
		c.behind.Store(false)
	}
	if e.mode == leased {
		raise(&c.peak, int64(e.countOf(word)))
	}
}

// raise sets v to n if n is greater.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// waitBehind waits a while for a clock that was set back.
func (c *Client) waitBehind(e *era, word uint64, behind int64, wait *waitState) error {
	e.trimOvershoot(word)
	if c.behind.CompareAndSwap(false, true) {
		c.clockBackward.Add(1)
		c.opts.Logger.Warn("idgen: the clock was set back", "service", c.opts.ServiceID, "ms", behind)
	}
	pause, err := c.clock.waitBehind(wait.ctx, behind, wait.slept)
	wait.slept += pause
	return err
}

// maxYields is how often a caller yields for a used-up millisecond before it
// sleeps: with the reading of the clock that takes longer than a millisecond.
const maxYields = 10_000

// yieldFull waits a little because the millisecond of word is used up. It
// yields instead of sleeping: the shortest sleep of most systems is longer than
// the rest of a millisecond. If the clock stands still, as it does in a bubble
// of [testing/synctest] until all its goroutines wait, it sleeps.
func (c *Client) yieldFull(e *era, word uint64, wait *waitState) error {
	e.trimOvershoot(word)
	if e.full.markFull(word >> e.shift) {
		c.exhausted.Add(1)
		c.raiseDemand(e)
	}
	if wait.ctx.Err() != nil {
		return fmt.Errorf("idgen: gave up waiting for the next millisecond: %w", context.Cause(wait.ctx))
	}
	if wait.yields++; wait.yields <= maxYields {
		runtime.Gosched()
		return nil
	}
	wait.yields = 0
	_ = sleep.For(wait.ctx, time.Millisecond) // the next step notices the end of ctx
	return nil
}
