// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"crypto/sha256"
	"encoding/binary"
)

// The keys of a service, by their first byte. docs/layout.md describes them
// with their values. Numbers are big-endian, so that their order is that of the
// bytes.
const (
	keyService  = 's' // what never changes about the service
	keyFrontier = 'f' // where the positions that were never granted begin
	keyBlock    = 'b' // + base: a block of positions, and its holder
	keyFree     = 'q' // + bitSeq, time, base: the blocks by the time they become free; see freeKey
	keyRequest  = 'r' // + hash of the request key: what was granted for it
	keyForget   = 'x' // + time, hash: when what was granted for it can be forgotten
	keyAccount  = 'a' // + hash of an account: what it has leased
	keyGone     = 'g' // of the default service: what is left of services that were removed
)

func serviceKey() []byte { return []byte{keyService} }

func goneKey() []byte { return []byte{keyGone} }

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

// requestHash stands for a request key in keys.
func requestHash(requestKey string) []byte {
	sum := sha256.Sum256([]byte(requestKey))
	return sum[:16]
}

func requestRecordKey(hash []byte) []byte { return append([]byte{keyRequest}, hash...) }

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
