// SPDX-License-Identifier: Apache-2.0

package base

import "sync/atomic"

// doorkeeper lets a key into a part of the row cache when the key is read for the second
// time. To make a row costs a quarter of what Pebble's get costs, and most keys that are
// read once are not read again soon.
//
// It remembers a bit of each key's hash. Two keys may have the same bit: then it lets the
// second one in too early. It forgets all keys once it has seen as many as the part has room for,
// even if their rows are small: a key that is read again later than that would not have stayed.
type doorkeeper struct {
	bits atomic.Pointer[[]atomic.Uint64] // a power of two of words, which grows up to most
	seen atomic.Int64                    // bits that were set since all were cleared
	most int                             // words
}

// The smallest rows take about doorRow bytes. There is a bit for a quarter of that, so a quarter
// to an eighth of the bits are used, and they take up to a hundredth of the part.
const (
	doorRow    = 96
	doorUsed   = 4
	firstWords = 1 << 13 // at the beginning: a limit may be far above what will be read
)

// newDoorkeeper returns the doorkeeper of a part with that limit.
func newDoorkeeper(limit int64) *doorkeeper {
	d := &doorkeeper{most: 1}
	for int64(d.most) < limit/(doorRow/doorUsed)/64 {
		d.most *= 2
	}
	d.start(min(d.most, firstWords))
	return d
}

// admits reports whether a key was seen before, and remembers it.
func (d *doorkeeper) admits(hash uint64) bool {
	bits := *d.bits.Load()
	word, bit := &bits[hash>>6&uint64(len(bits)-1)], uint64(1)<<(hash&63)
	if word.Load()&bit != 0 {
		return true
	}
	word.Or(bit)
	if d.seen.Add(1) > int64(len(bits))*64/doorUsed {
		d.forget(bits)
	}
	return false
}

// forget forgets all keys, and makes room for twice as many up to the most. What other goroutines
// set at the same time may stay or be lost.
func (d *doorkeeper) forget(bits []atomic.Uint64) {
	if len(bits) < d.most {
		d.start(2 * len(bits))
		return
	}
	d.seen.Store(0)
	for i := range bits {
		bits[i].Store(0)
	}
}

// start begins with so many words.
func (d *doorkeeper) start(words int) {
	bits := make([]atomic.Uint64, words)
	d.bits.Store(&bits)
	d.seen.Store(0)
}

// size returns how many bytes the doorkeeper takes at most.
func (d *doorkeeper) size() int64 { return int64(d.most) * 8 }
