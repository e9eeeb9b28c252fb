// SPDX-License-Identifier: Apache-2.0

// Package wheel is a hierarchical timing wheel: Varghese and Lauck, "Hashed and
// Hierarchical Timing Wheels", SOSP 1987, scheme 7. Pushing and popping an
// entry take constant time, however many there are.
//
// Time is counted in ticks. Entries are numbers, and cannot be removed: the owner
// recognises entries that it no longer needs. Each level has 256 slots, each of
// which spans as much as the level below. Bitmaps of occupied slots let the time
// jump.
package wheel

import "math/bits"

const (
	slotBits = 8
	slots    = 1 << slotBits
	levels   = 3

	// Horizon is the number of ticks ahead of the present one for which entries
	// are kept exactly.
	Horizon = (slots - 1) << (slotBits * (levels - 1))
)

// Entry is what the wheel holds.
type Entry struct {
	Index uint32 // of the owner's choice
	tick  uint32 // the last bits of its tick, which is less than 2^32 ahead
}

// Wheel holds entries until their ticks. The zero value is empty, at tick 0. It is not safe for
// concurrent use.
type Wheel struct {
	now    uint64 // the tick of the entries in due; all before it are gone
	due    *block
	out    *block // with the entries that Pop has returned last
	levels [levels]level
	blocks pool
}

// Now returns the tick up to which Pop has emptied the wheel.
func (w *Wheel) Now() uint64 { return w.now }

// Push adds an entry for a tick, and returns the tick at which it will be popped: the next one if that
// tick is over, or one at the Horizon if it lies beyond.
func (w *Wheel) Push(index uint32, tick uint64) uint64 {
	farthest := (w.now>>(slotBits*(levels-1)) + slots - 1) << (slotBits * (levels - 1))
	tick = min(max(tick, w.now+1), farthest)
	w.placeEntry(Entry{index, uint32(tick)}, tick)
	return tick
}

// placeEntry puts an entry into the lowest level with slots that reach its tick.
func (w *Wheel) placeEntry(e Entry, tick uint64) {
	for l := range w.levels {
		shift := slotBits * l
		if tick>>shift-w.now>>shift < slots {
			w.levels[l].put(&w.blocks, uint(tick>>shift)%slots, e)
			return
		}
	}
	panic("wheel: an entry beyond the horizon")
}

// Pop returns entries of one tick, which is not after to, a block of them at a time; none if there are no more. Entries
// come in the order of ticks, those of one tick in any order. The next call takes the slice back.
func (w *Wheel) Pop(to uint64) (entries []Entry, tick uint64) {
	if w.out != nil {
		w.blocks.put(w.out)
		w.out = nil
	}
	for w.due == nil {
		next, ok := w.Next()
		if !ok || next > to {
			w.now = max(w.now, to)
			return nil, 0
		}
		w.turnTo(next)
	}
	w.out, w.due = w.due, w.due.next
	return w.out.entries[:w.out.n], w.now
}

// Next returns the tick at which Pop has something to do, not later than that of the first entry;
// false if the wheel is empty.
func (w *Wheel) Next() (tick uint64, ok bool) {
	if w.due != nil {
		return w.now, true
	}
	for l := range w.levels {
		at := w.now >> (slotBits * l)
		if d := w.levels[l].distance(uint(at) % slots); d > 0 {
			if t := (at + uint64(d)) << (slotBits * l); !ok || t < tick {
				tick, ok = t, true
			}
		}
	}
	return tick, ok
}

// turnTo moves the time on to a tick before which no slot has to be emptied. Slots of higher levels that
// begin there are dealt out to the levels below, so that the lowest level has all that is due.
func (w *Wheel) turnTo(tick uint64) {
	w.now = tick
	for l := levels - 1; l > 0; l-- {
		if shift := slotBits * l; tick&(1<<shift-1) == 0 {
			w.dealOut(w.levels[l].takeSlot(uint(tick>>shift) % slots))
		}
	}
	w.due = w.levels[0].takeSlot(uint(tick) % slots)
}

func (w *Wheel) dealOut(entries *block) {
	for entries != nil {
		e := w.blocks.pop(&entries)
		w.placeEntry(e, w.now+uint64(e.tick-uint32(w.now)))
	}
}

// level is one wheel of the hierarchy. Slots are lists of blocks.
type level struct {
	occupied [slots / 64]uint64 // a bit for each slot that is not empty
	slots    [slots]*block
}

func (l *level) put(p *pool, slot uint, e Entry) {
	p.push(&l.slots[slot], e)
	l.occupied[slot/64] |= 1 << (slot % 64)
}

func (l *level) takeSlot(slot uint) *block {
	entries := l.slots[slot]
	l.slots[slot] = nil
	l.occupied[slot/64] &^= 1 << (slot % 64)
	return entries
}

// distance returns how many slots after the given one the next occupied slot is, once
// around; 0 if there is none.
func (l *level) distance(from uint) uint {
	const words = uint(len(l.occupied))
	for i := range words + 1 {
		word := (from/64 + i) % words
		occupied := l.occupied[word]
		switch i {
		case 0:
			occupied &^= 2<<(from%64) - 1 // only those after from
		case words:
			occupied &= 1<<(from%64) - 1 // only those before it
		}
		if occupied != 0 {
			slot := word*64 + uint(bits.TrailingZeros64(occupied))
			return (slot - from) % slots
		}
	}
	return 0
}

// block is a part of a list of entries, of 512 bytes: entries that follow each other in memory are read
// faster than those of a linked list.
type block struct {
	next    *block
	n       int
	entries [62]Entry
}

// spare is how many blocks more than are in use a pool keeps.
const spare = 16

// pool keeps blocks that are out of use, for the next slots.
type pool struct {
	free       *block
	used, kept int
}

// push adds an entry to a list.
func (p *pool) push(list **block, e Entry) {
	b := *list
	if b == nil || b.n == len(b.entries) {
		b = p.get()
		b.next, *list = *list, b
	}
	b.entries[b.n] = e
	b.n++
}

// pop takes an entry out of a list that is not empty.
func (p *pool) pop(list **block) Entry {
	b := *list
	b.n--
	e := b.entries[b.n]
	if b.n == 0 {
		*list = b.next
		p.put(b)
	}
	return e
}

func (p *pool) get() *block {
	p.used++
	b := p.free
	if b == nil {
		return new(block)
	}
	p.free = b.next
	p.kept--
	return b
}

func (p *pool) put(b *block) {
	b.n = 0
	p.used--
	b.next, p.free = p.free, b
	for p.kept++; p.kept > p.used+spare; p.kept-- {
		p.free = p.free.next
	}
}
