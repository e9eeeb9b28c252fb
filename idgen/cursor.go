// SPDX-License-Identifier: Apache-2.0

package idgen

import "sync/atomic"

// maxTake is the most positions that one step of a cursor takes, so that callers
// beside a large batch get some of the millisecond, too.
const maxTake = 4096

// cursor hands out positions: pairs of a timestamp and a number below span,
// each pair once, in strictly ascending order, without a lock.
//
// All its state is one word, timestamp<<shift | number, of the last pair
// handed out. The first caller of a new millisecond swaps in the new timestamp
// with a first number. Within a millisecond a caller that wants one position adds
// one to the word. A caller that wants several, or that has read the clock since
// it looked at the word, swaps the word for one that it computed: it never
// passes span.
//
// A number of span or more means that the millisecond is used up. Only
// additions make greater ones: of callers that looked at the word before others
// used the millisecond up, and added afterwards, which makes one for each such
// goroutine. The number has room for three times span and for more than three
// million beyond it, see init, and callers that wait for the next millisecond
// lower the word to exactly span, which is safe since such words are never
// handed out. So the number does not overflow into the timestamp.
//
// A cursor can be closed: the word is swapped for one whose number is used up
// and whose timestamp lies after all others. What was handed out before belongs
// to its callers; nothing is handed out afterwards.
type cursor struct {
	shift uint          // bits of the number
	mask  uint64        // of the number
	span  uint64        // numbers in a millisecond
	start func() uint64 // first number of a millisecond, below span
	first uint64        // the timestamp before the first one of the cursor
	tally *atomic.Int64 // positions that callers got in earlier milliseconds

	_    [64]byte // the word changes all the time, the fields above never
	word atomic.Uint64
	_    [56]byte

	replaced atomic.Bool // it is closed, or will be at once
}

// init begins a cursor whose span and start are set, with the milliseconds after
// last. The number gets all 64 - bitTs bits, 22 at least, because a word has no
// reserve bits. span is at most half of what the bits below the timestamp hold,
// and so a quarter of what the number holds.
func (c *cursor) init(bitTs int, last uint64, tally *atomic.Int64) {
	c.shift = uint(64 - bitTs)
	c.mask = 1<<c.shift - 1
	c.first = last
	c.tally = tally
	c.word.Store(last<<c.shift | c.span) // used up. Timestamp 0: the zero ID is never made
}

// tryNext takes one position of the millisecond ts, or of a later one that
// another caller enters meanwhile, if the cursor is in ts. It returns the word of
// the position, or false where the slow way is needed.
func (c *cursor) tryNext(ts uint64) (word uint64, ok bool) {
	if word = c.word.Load(); word>>c.shift != ts || word&c.mask >= c.span {
		return 0, false
	}
	word = c.word.Add(1)
	return word, word&c.mask < c.span
}

// takeRange takes up to want positions of the millisecond that the cursor is in, if
// that is not before least nor after most. It returns the first word and how
// many follow in sequence, or no positions where there are none.
func (c *cursor) takeRange(least, most, want uint64) (first, got uint64) {
	for {
		word := c.word.Load()
		ts := word >> c.shift
		got = min(want, c.remaining(word))
		if ts < least || ts > most || got == 0 {
			return 0, 0
		}
		if c.word.CompareAndSwap(word, word+got) {
			return word + 1, got
		}
	}
}

// remaining returns how many positions of word's millisecond are left.
func (c *cursor) remaining(word uint64) uint64 {
	if n := word & c.mask; n < c.span {
		return c.span - 1 - n
	}
	return 0
}

// enterMs moves the cursor from word to a new millisecond and takes its first
// positions, unless another caller was faster.
func (c *cursor) enterMs(word, ts, want uint64) (first, got uint64) {
	start := c.start()
	first, got = ts<<c.shift|start, min(want, c.span-start)
	if !c.word.CompareAndSwap(word, first+got-1) {
		return 0, 0
	}
	c.tally.Add(int64(c.countOf(word)) - int64(start))
	return first, got
}

// trimOvershoot lowers the word after additions beyond span; see cursor.
func (c *cursor) trimOvershoot(word uint64) {
	if word&c.mask > c.span {
		c.word.CompareAndSwap(word, word&^c.mask|c.span)
	}
}

// close ends the cursor and returns the last timestamp that it handed out, or
// the one that init was given if there is none. It is called once.
func (c *cursor) close() (last uint64) {
	c.replaced.Store(true) // before the swap: a reader of the closed word then sees it, too
	word := c.word.Swap(^c.mask | c.span)
	c.tally.Add(int64(c.countOf(word)))
	return word >> c.shift
}

// countOf returns how many numbers the callers of word's millisecond got, counted
// from 0.
func (c *cursor) countOf(word uint64) uint64 {
	if word>>c.shift == c.first {
		return 0
	}
	return min(word&c.mask+1, c.span)
}

// openCount returns how many positions of the current millisecond callers got,
// counted from 0, which the tally does not have yet.
func (c *cursor) openCount() int64 {
	if c.replaced.Load() {
		return 0
	}
	return int64(c.countOf(c.word.Load()))
}
