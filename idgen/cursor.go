// SPDX-License-Identifier: Apache-2.0

package idgen

import "sync/atomic"

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
//
// A cursor can be closed: the word is swapped for one whose number is used up
// and whose timestamp lies after all others. What was handed out before is
// owned by its callers; nothing is handed out after.
type cursor struct {
	shift uint          // bits of the number
	mask  uint64        // of the number
	span  uint64        // numbers in a millisecond
	start func() uint64 // first number of a millisecond, below span
	first uint64        // timestamp before all that the cursor enters
	tally *atomic.Int64 // positions that callers got in milliseconds that were left

	_    [64]byte // the word changes all the time, the fields above never
	word atomic.Uint64
	_    [56]byte

	replaced atomic.Bool // it is closed, or will be at once
}

// init begins a cursor whose span and start are set, with the milliseconds after
// last. span is at most half of what the bits below the timestamp hold. The
// reserve bit doubles the room, because a word has none: the number gets all
// 64 - bitTs bits.
func (c *cursor) init(bitTs int, last uint64, tally *atomic.Int64) {
	c.shift = uint(64 - bitTs)
	c.mask = 1<<c.shift - 1
	c.first = last
	c.tally = tally
	c.word.Store(last<<c.shift | c.span) // used up. Timestamp 0: the zero ID is never made
}

// tryTake takes up to want positions of the millisecond ts if the cursor is in
// it. It returns the first word and how many follow in sequence, or no
// positions where the slow way is needed.
func (c *cursor) tryTake(ts, want uint64) (first, got uint64) {
	if word := c.word.Load(); word>>c.shift != ts || word&c.mask >= c.span {
		return 0, 0
	}
	first = c.word.Add(want) - want + 1
	if first>>c.shift != ts { // somebody left the millisecond meanwhile
		_, lost := c.owned(first, want)
		c.tally.Add(-int64(lost))
		return 0, 0
	}
	return c.owned(first, want)
}

// takeSince takes up to want positions of the millisecond that the cursor is
// in, which is ts or a later one that somebody has entered meanwhile.
func (c *cursor) takeSince(ts, want uint64) (first, got uint64) {
	first = c.word.Add(want) - want + 1
	if first>>c.shift < ts { // it was closed, and ran over
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

// enter moves the cursor from word to a new millisecond and takes its first
// positions, unless another caller was faster.
func (c *cursor) enter(word, ts, want uint64) (first, got uint64) {
	start := c.start()
	first, got = c.owned(ts<<c.shift|start, want)
	if !c.word.CompareAndSwap(word, first+got-1) {
		return 0, 0
	}
	c.tally.Add(int64(c.end(word)) - int64(start))
	return first, got
}

// trim takes overshoot back; see cursor.
func (c *cursor) trim(word uint64) {
	if word&c.mask > c.span {
		c.word.CompareAndSwap(word, word&^c.mask|c.span)
	}
}

// close ends the cursor and returns the last timestamp that it handed out, or
// what init was told if there is none. It is called once.
func (c *cursor) close() (last uint64) {
	c.replaced.Store(true) // before the swap: who sees the closed word knows
	word := c.word.Swap(^c.mask | c.span)
	c.tally.Add(int64(c.end(word)))
	return word >> c.shift
}

// end returns how many numbers the callers of word's millisecond got, counted
// from 0.
func (c *cursor) end(word uint64) uint64 {
	if word>>c.shift == c.first {
		return 0
	}
	return min(word&c.mask+1, c.span)
}

// open returns how many positions of the current millisecond callers got,
// counted from 0, which the tally does not have yet.
func (c *cursor) open() int64 {
	if c.replaced.Load() {
		return 0
	}
	return int64(c.end(c.word.Load()))
}
