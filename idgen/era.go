// SPDX-License-Identifier: Apache-2.0

package idgen

import "math"

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
// the blocks, which lie one behind the other in ascending order of their bases.
// An era is fixed but for its cursor; another set of blocks is another era,
// whose cursor begins after the last timestamp of the one before. So IDs
// ascend over all eras, and two eras never share a millisecond.
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

// block is a run of numbers whose positions are consecutive.
type block struct {
	end   uint64 // number behind the last one
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
	panic("idgen: a number behind the last block")
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
