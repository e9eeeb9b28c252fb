// SPDX-License-Identifier: Apache-2.0

package base

import "sync/atomic"

// doorkeeper lets a key into a part of the row cache when the key is read for the second
// time. To make a row costs a quarter of what Pebble's get costs, and most keys that are
// read once are not read again soon.
//
// It remembers a bit of each key's hash. Two keys may have the same bit: then it lets the
// second one in too early. It forgets all keys once it has seen about as many as the part
// has room for: a key that is read again later than that would not have stayed.
type doorkeeper struct {
	bits []atomic.Uint64 // a power of two of words
	seen atomic.Int64    // bits that were set since all were cleared
}

// A key has doorBytes of the part's memory for its bit, so that the doorkeeper takes a
// five-hundredth of the part. A quarter of the bits are used.
const (
	doorBytes = 64
	doorUsed  = 4
)

func (d *doorkeeper) open(limit int64) {
	words := 1
	for int64(2*words)*64*doorBytes <= limit {
		words *= 2
	}
	d.bits = make([]atomic.Uint64, words)
}

// admits reports whether a key was seen before, and remembers it.
func (d *doorkeeper) admits(hash uint64) bool {
	word, bit := &d.bits[hash>>6&uint64(len(d.bits)-1)], uint64(1)<<(hash&63)
	if word.Load()&bit != 0 {
		return true
	}
	word.Or(bit)
	if d.seen.Add(1) > int64(len(d.bits))*64/doorUsed {
		d.forget()
	}
	return false
}

// forget clears all bits. Those that other goroutines set at the same time may stay.
func (d *doorkeeper) forget() {
	d.seen.Store(0)
	for i := range d.bits {
		d.bits[i].Store(0)
	}
}

// size returns how many bytes the doorkeeper takes.
func (d *doorkeeper) size() int64 { return int64(len(d.bits)) * 8 }
