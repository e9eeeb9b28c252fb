// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"math"
	"sync/atomic"
)

// maxTake is the most positions that one step of a cursor takes, so that a large
// batch leaves some of the millisecond to other callers.
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
// A cursor can be closed: the word is swapped for one with the highest timestamp
// and a number that is used up. What was handed out before belongs
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

// init begins a cursor, once its span and start are set, with the milliseconds after
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

// tryNext takes one position of the millisecond ts if the cursor is in ts, or of a
// later one if another caller enters that at the same moment. It returns the word of
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

// fullMark remembers the last timestamp that was found used up.
type fullMark struct{ ts atomic.Uint64 }

// markFull reports whether ts was not marked before.
func (f *fullMark) markFull(ts uint64) bool { return f.ts.Load() != ts && f.ts.Swap(ts) != ts }

// mode says what the IDs of an era are made under.
type mode uint8

const (
	waiting   mode = iota // nothing: no IDs
	leased                // valid leases
	continued             // leases that have just expired, with the fallback bit
	random                // nothing: random fallback IDs
	closed                // nothing, for ever
	modes
)

// String returns the word that logs use.
func (m mode) String() string {
	return [modes]string{"waiting", "leased", "cached fallback", "random fallback", "closed"}[m]
}

// era is a time during which a client makes IDs in one set of blocks. Its
// cursor ascends over the timestamps in [from, until) and over the numbers of
// the blocks, which follow one another in ascending order of their bases.
// An era is fixed but for its cursor; another set of blocks is another era. Its
// cursor begins after the last timestamp of the era before. So IDs ascend over
// all eras, and two eras never share a millisecond.
type era struct {
	epoch   int64
	lowBits uint   // bits below the timestamp
	base    uint64 // of the only block, fallback bit included
	blocks  []block
	cursor

	mode        mode
	layout      Layout
	from, until int64        // Unix milliseconds
	leases      []*heldLease // that the blocks are of
	full        fullMark
}

// block is a run of numbers with consecutive positions.
type block struct {
	end   uint64 // the number after the last one
	delta uint64 // from number to position, modulo 2^64
}

// span is a run of positions.
type span struct{ base, size uint64 }

// forever is the end of an era that no lease ends.
const forever = math.MaxInt64

// layOut numbers the positions of the spans, which ascend and do not overlap,
// without gaps.
func (e *era) layOut(spans []span) (size uint64) {
	for _, s := range spans {
		delta := s.base - size // the numbers of s begin where the last ended
		size += s.size
		if n := len(e.blocks); n > 0 && e.blocks[n-1].delta == delta {
			e.blocks[n-1].end = size
			continue
		}
		e.blocks = append(e.blocks, block{end: size, delta: delta})
	}
	if len(e.blocks) == 1 {
		e.base, e.blocks = e.blocks[0].delta, nil
	}
	return size
}

// id turns a word of the cursor into an ID: the same timestamp, and the
// position of the number.
func (e *era) id(word uint64) ID {
	n := word & e.mask
	return ID(word>>e.shift<<e.lowBits | (e.position(n) + n))
}

// position returns what to add to the number n.
func (e *era) position(n uint64) uint64 {
	if e.blocks == nil {
		return e.base
	}
	return e.findDelta(n)
}

func (e *era) findDelta(n uint64) uint64 {
	for _, b := range e.blocks {
		if n < b.end {
			return b.delta
		}
	}
	panic("idgen: a number after the last block")
}

// ids fills dst with the IDs of words that follow each other from first.
func (e *era) ids(dst []ID, first uint64) {
	if e.blocks == nil {
		id := e.id(first)
		for i := range dst {
			dst[i] = id + ID(i)
		}
		return
	}
	for i := range dst {
		dst[i] = e.id(first + uint64(i))
	}
}

// makesIDs reports whether IDs can be made in the era.
func (e *era) makesIDs() bool { return e.mode != waiting && e.mode != closed }

// covers reports whether IDs may be made at ms.
func (e *era) covers(ms int64) bool { return ms >= e.from && ms < e.until }

// lastMs is the Unix millisecond of a timestamp.
func (e *era) lastMs(ts uint64) int64 { return e.epoch + int64(ts) }

// timestampAfter returns the timestamp of e for the millisecond of old's timestamp last:
// the same, unless the layout has changed.
func (e *era) timestampAfter(old *era, last uint64) uint64 {
	if last == 0 || e.epoch == old.epoch {
		return last
	}
	return uint64(min(max(old.lastMs(last)-e.epoch, 0), e.layout.maxTs()))
}
