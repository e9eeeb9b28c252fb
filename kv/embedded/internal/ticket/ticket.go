// SPDX-License-Identifier: Apache-2.0

// Package ticket has what a reader of the base carries from the row cache, which did not
// have the key, to the read that adds it there.
//
//	value, ok, t := view.LookUp(key) // does not wait
//	if !ok {
//		value, err = view.Fetch(t, key) // reads the disk, and the row cache adds what it found
//	}
package ticket

// Ticket admits to the row cache the row that a reader reads after a miss. The zero value
// admits nothing.
type Ticket struct {
	Valid bool
	Hash  uint64 // of the key
	Epoch uint64 // of the cache's part, when the reader looked
	Seen  uint64 // how many clears of ranges the cache knew then
}
