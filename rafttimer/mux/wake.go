// SPDX-License-Identifier: Apache-2.0

package mux

// wake is the tick of a block's entry in the wheel that counts: twice its last 31 bits, plus one. 0: there is none.
// The wheel may have other entries of the block, which were for later ticks.
type wake uint32

func wakeAt(tick uint64) wake { return wake(tick)<<1 | 1 }

// isBy reports whether there is an entry for the given tick or an earlier one. Both are at least now, and less
// than 2^31 ahead.
func (w wake) isBy(tick, now uint64) bool {
	const mask = 1<<31 - 1
	return w != 0 && (uint64(w>>1)-now)&mask <= tick-now
}
