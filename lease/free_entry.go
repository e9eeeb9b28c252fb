// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/binary"
	"math/bits"
)

// freeKey is the key of a block in the queue of those that become free. Blocks
// that were never granted, which are at time 0, are in the order of their positions
// with the bits reversed: blocks that were made together lie evenly in the space of
// keys, and a scan from a random key finds any of them.
func freeKey(bitSeq int, at int64, base uint64) []byte {
	order := uint32(base)
	if at == 0 {
		order = bits.Reverse32(order >> bitSeq)
	}
	return freeKeyAt(bitSeq, at, order)
}

func freeKeyAt(bitSeq int, at int64, order uint32) []byte {
	key := binary.BigEndian.AppendUint64([]byte{keyFree, byte(bitSeq)}, uint64(at))
	return binary.BigEndian.AppendUint32(key, order)
}

// freeOrder returns what orders the entries of one size and time; 0 for other
// keys.
func freeOrder(key []byte) uint32 {
	if len(key) != freeKeyLength {
		return 0
	}
	return binary.BigEndian.Uint32(key[freeKeyLength-4:])
}

const freeKeyLength = 14

// freeEntry is what the key of an entry of the queue says.
type freeEntry struct {
	key    []byte
	bitSeq int
	at     int64 // NotBefore of the block
	base   uint64
}

// parseFreeKey is the inverse of freeKey.
func parseFreeKey(key []byte) (freeEntry, bool) {
	if len(key) != freeKeyLength || key[0] != keyFree || key[1] >= 32 {
		return freeEntry{}, false
	}
	e := freeEntry{key: key, bitSeq: int(key[1]), at: int64(binary.BigEndian.Uint64(key[2:])), base: uint64(freeOrder(key))}
	if e.at == 0 {
		e.base = uint64(bits.Reverse32(freeOrder(key))) << e.bitSeq
	}
	return e, true
}

// matches reports whether the block is still as the entry says; b is nil if there
// is none.
func (e freeEntry) matches(b *block) bool {
	return b != nil && b.BitSeq == e.bitSeq && b.NotBefore == e.at
}
