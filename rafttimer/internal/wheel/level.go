// SPDX-License-Identifier: Apache-2.0

package wheel

import "math/bits"

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
