// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// The keys of a service, by their first byte. docs/layout.md describes them
// with their values. Numbers are big-endian, so that their order is that of the
// bytes.
const (
	keyService  = 's' // what never changes about the service
	keyFrontier = 'f' // where the positions that were never granted begin
	keyBlock    = 'b' // + base: a block of positions, and who holds it
	keyFree     = 'q' // + bitSeq, time, base: the blocks by the time they become free; see freeKey
	keyRequest  = 'r' // + hash of the request key: what was granted for it
	keyForget   = 'x' // + time, hash: when what was granted for it can be forgotten
	keyAccount  = 'a' // + hash of an account: what it has leased
	keyGone     = 'g' // of the default service: what is left of services that were removed
)

func serviceKey() []byte { return []byte{keyService} }

func frontierKey() []byte { return []byte{keyFrontier} }

func blockKey(base uint64) []byte {
	return binary.BigEndian.AppendUint32([]byte{keyBlock}, uint32(base))
}

// blockBase is the inverse of blockKey.
func blockBase(key []byte) (base uint64, ok bool) {
	if len(key) != 5 || key[0] != keyBlock {
		return 0, false
	}
	return uint64(binary.BigEndian.Uint32(key[1:])), true
}

// freeKey is the key of a block in the queue of those that become free. Blocks
// that were never granted, which are at time 0, are not in the order of their
// positions but of those with the bits reversed, so that those made together lie
// evenly in the space of keys, and whoever begins anywhere finds any of them.
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
	at     int64 // the block's fence
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

// requestHash stands for a request key in keys.
func requestHash(requestKey string) []byte {
	sum := sha256.Sum256([]byte(requestKey))
	return sum[:16]
}

func requestRecordKey(hash []byte) []byte { return append([]byte{keyRequest}, hash...) }

func goneKey() []byte { return []byte{keyGone} }

func accountKey(hash []byte) []byte { return append([]byte{keyAccount}, hash...) }

func forgetKey(at int64, hash []byte) []byte {
	return append(binary.BigEndian.AppendUint64([]byte{keyForget}, uint64(at)), hash...)
}

// forgetHash returns the hash at the end of a forgetKey.
func forgetHash(key []byte) (hash []byte, ok bool) {
	if len(key) != 25 || key[0] != keyForget {
		return nil, false
	}
	return key[9:], true
}
