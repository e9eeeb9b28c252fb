// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// maxTake is the most positions that one step of a cursor takes.
const maxTake = 4096

// cursor hands out positions: pairs of a timestamp and a number below span,
// each pair once, in strictly ascending order, without a lock.
//
// All its state is one word, timestamp<<shift | number, of the last pair
// handed out. Within a millisecond a caller adds to the word and owns what it
// added; the first caller of a new millisecond swaps in the new timestamp with
// a first number. A number of span or more means that the millisecond is used
// up. Such words are never handed out, so lowering one to exactly span is safe
// and keeps the overshoot of concurrent callers from ever reaching the
// timestamp: the number has room for at least four times span, see init.
type cursor struct {
	clock clock
	shift uint          // bits of the number
	mask  uint64        // of the number
	span  uint64        // numbers in a millisecond
	start func() uint64 // first number of a millisecond, below span

	_    [64]byte // the word changes all the time, the fields above never
	word atomic.Uint64
	_    [56]byte
}

// init prepares a cursor that uses span numbers in each millisecond, starting
// at start(). span is at most half of what the bits below the timestamp hold.
// The reserve bit doubles the room, because a word has none: the number gets all
// 64 - BitTs bits.
func (c *cursor) init(k clock, span uint64, start func() uint64) {
	c.clock = k
	c.shift = uint(64 - k.layout.BitTs)
	c.mask = 1<<c.shift - 1
	c.span = span
	c.start = start
	c.word.Store(span) // timestamp 0, used up: the zero ID is never made
}

// tryTake takes up to want positions from the current millisecond if the
// cursor is in it. It returns the first word and how many follow in sequence,
// or no positions where the slow way is needed.
func (c *cursor) tryTake(want uint64) (first, got uint64) {
	ts := uint64(c.clock.ts())
	last := c.word.Add(want)
	first = last - want + 1
	if first>>c.shift != ts {
		return 0, 0
	}
	return c.owned(first, want)
}

// owned cuts a sequence of words off at span.
func (c *cursor) owned(first, want uint64) (uint64, uint64) {
	if n := first & c.mask; n < c.span {
		return first, min(want, c.span-n)
	}
	return 0, 0
}

// take is the slow way: it moves the cursor to a new millisecond, waits for one
// when the current one is used up, and deals with clocks that are wrong.
//
// The word is read before the clock. So a clock behind the word was set back
// for certain; it is not just that this goroutine was overtaken.
func (c *cursor) take(ctx context.Context, want uint64) (first, got uint64, err error) {
	var slept time.Duration
	for {
		word := c.word.Load()
		ts, last := c.clock.ts(), int64(word>>c.shift)
		if err := c.clock.check(ts); err != nil {
			return 0, 0, err
		}
		switch {
		case ts > last:
			first, got = c.enter(word, ts, want)
		case ts == last && word&c.mask < c.span:
			first, got = c.owned(c.word.Add(want)-want+1, want)
		case ts == last:
			err = c.spin(ctx, word)
		default:
			c.trim(word)
			var pause time.Duration
			pause, err = c.clock.waitBehind(ctx, last-ts, slept)
			slept += pause
		}
		if err != nil || got > 0 {
			return first, got, err
		}
	}
}

// enter moves the cursor from word to a new millisecond and takes its first
// positions, unless another caller was faster.
func (c *cursor) enter(word uint64, ts int64, want uint64) (first, got uint64) {
	start := c.start()
	first, got = c.owned(uint64(ts)<<c.shift|start, want)
	if !c.word.CompareAndSwap(word, first+got-1) {
		return 0, 0
	}
	return first, got
}

// spin waits until the clock leaves the timestamp of word, whose positions are
// used up. It yields instead of sleeping: the shortest sleep of most systems is
// longer than the millisecond it would wait for.
func (c *cursor) spin(ctx context.Context, word uint64) error {
	c.trim(word)
	for c.clock.ts() == int64(word>>c.shift) {
		if ctx.Err() != nil {
			return fmt.Errorf("idgen: gave up waiting for the next millisecond: %w", context.Cause(ctx))
		}
		runtime.Gosched()
	}
	return nil
}

// trim takes overshoot back; see cursor.
func (c *cursor) trim(word uint64) {
	if word&c.mask > c.span {
		c.word.CompareAndSwap(word, word&^c.mask|c.span)
	}
}
