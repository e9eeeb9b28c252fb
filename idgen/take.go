// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync/atomic"
	"time"
)

// maxLeaseWait is how long Next waits for a lease that is there but begins
// later, because this machine's clock is behind that of the provider.
const maxLeaseWait = 5 * time.Second

// patience is what one call has spent on waiting.
type patience struct {
	ctx   context.Context
	ended bool          // ctx had ended before the call began to wait
	slept time.Duration // for clocks and leases
}

// take is the slow way to an ID: it moves the cursor to a new millisecond, waits
// for one when the current one is used up, changes eras, and deals with clocks
// that are wrong.
//
// The word is read before the clock. So a clock behind the word was set back
// for certain; it is not just that this goroutine was overtaken.
func (c *Client) take(ctx context.Context, want uint64) (e *era, first, got uint64, err error) {
	wait := patience{ctx: ctx, ended: ctx.Err() != nil}
	for {
		e = c.era.Load()
		word := e.word.Load()
		if e.replaced.Load() && e.mode != closed {
			runtime.Gosched() // the next era is there at once
			continue
		}
		r := c.clock.read()
		if r.ahead() {
			r = c.jump()
		}
		if first, got, err = c.step(e, word, r, want, &wait); err != nil || got > 0 {
			return e, first, got, err
		}
	}
}

// step does what one look at the cursor and the clock tells to do. It returns no
// positions if that was to wait.
func (c *Client) step(e *era, word uint64, r reading, want uint64, wait *patience) (first, got uint64, err error) {
	ts, last := r.ms-e.epoch, int64(word>>e.shift)
	if e.makesIDs() {
		if err := e.layout.check(ts); err != nil {
			return 0, 0, err
		}
		if ts < last {
			return 0, 0, c.waitBehind(e, word, last-ts, wait)
		}
	}
	switch {
	case !e.covers(r.ms):
		return 0, 0, c.advance(e, r, wait)
	case ts > last:
		if first, got = e.enter(word, uint64(ts), want); got > 0 {
			c.entered(e, word, r)
		}
		return first, got, nil
	case e.left(word) > 0:
		first, got = e.take(uint64(ts), math.MaxUint64, want)
		return first, got, nil
	default:
		return 0, 0, c.spin(e, word, wait)
	}
}

// entered is called by who has moved the cursor to a new millisecond, from word.
func (c *Client) entered(e *era, word uint64, r reading) {
	if !r.ahead() {
		c.clock.believe(r)
	}
	if c.behind.Load() {
		c.behind.Store(false)
	}
	if e.mode == leased {
		raise(&c.peak, int64(e.end(word)))
	}
}

// raise sets v to n if n is greater.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// waitBehind waits a while for a clock that was set back.
func (c *Client) waitBehind(e *era, word uint64, behind int64, wait *patience) error {
	e.trim(word)
	if c.behind.CompareAndSwap(false, true) {
		c.clockBackward.Add(1)
		c.opts.Logger.Warn("idgen: the clock was set back", "service", c.opts.ServiceID, "ms", behind)
	}
	pause, err := c.clock.waitBehind(wait.ctx, behind, wait.slept)
	wait.slept += pause
	return err
}

// spin waits a little because the millisecond of word is used up. It yields
// instead of sleeping: the shortest sleep of most systems is longer than the
// millisecond it would wait for.
func (c *Client) spin(e *era, word uint64, wait *patience) error {
	e.trim(word)
	if e.full.mark(word >> e.shift) {
		c.exhausted.Add(1)
		c.enlarge(e)
	}
	if wait.ctx.Err() != nil {
		return fmt.Errorf("idgen: gave up waiting for the next millisecond: %w", context.Cause(wait.ctx))
	}
	runtime.Gosched()
	return nil
}

// fullMark remembers the last timestamp that was found used up.
type fullMark struct{ ts atomic.Uint64 }

// mark reports whether ts is news.
func (f *fullMark) mark(ts uint64) bool { return f.ts.Load() != ts && f.ts.Swap(ts) != ts }

// jump decides which time to go by while the wall clock is far ahead. The first
// to notice abandons the leases: a copy of this process may be using them.
func (c *Client) jump() reading {
	c.lock()
	defer c.unlock()
	r := c.clock.read()
	if !r.ahead() {
		return r // it is over
	}
	if c.clock.noticeJump(r) {
		c.counts.ClockForward++
		c.note(slog.LevelWarn, "idgen: the clock jumped ahead of the monotonic clock", "ms", r.wall-r.ms)
		c.keeper.doubted = time.Now()
		c.abandon()
	}
	confirmed := c.holdings.plan(r.wall, c.layout).mode == leased
	steady := c.holdings.plan(r.ms, c.layout)
	denied := steady.mode != waiting || steady.next != forever // a lease of a time close to r.ms
	early := r.ms < c.layout.First().UnixMilli()               // no ID can be made by that time
	if confirmed || early || !denied && c.clock.lasting(r) && c.keeper.hasTried() {
		c.clock.believeJump(r)
		c.note(slog.LevelInfo, "idgen: the clock is believed after its jump", "ms", r.wall-r.ms)
		r.ms = r.wall
	}
	return r
}
