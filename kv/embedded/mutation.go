// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"

	"github.com/kazahana-db/kazahana/kv"
)

// The mutations that are not atomic operations, with FoundationDB's numbers.
const (
	opSet        kv.MutationType = 0
	opClearRange kv.MutationType = 1
)

// mutation is one write of a commit. A value of nil under opSet clears the key.
type mutation struct {
	op    kv.MutationType
	key   []byte
	value []byte // the end of the range for opClearRange
}

// ownBytes copies b. The copy is not nil, and followed by a zero byte that
// keyAfter can take in.
func ownBytes(b []byte) []byte {
	c := make([]byte, len(b)+1)
	copy(c, b)
	return c[:len(b)]
}

// keyAfter returns the first key behind key, which was made by ownBytes,
// without copying it.
func keyAfter(key []byte) []byte { return key[: len(key)+1 : len(key)+1] }

// singleKey returns the range of just key.
func singleKey(key []byte) kv.KeyRange {
	own := ownBytes(key)
	return kv.KeyRange{Begin: own, End: keyAfter(own)}
}

// stampSpot returns where in b, whose last four bytes are a little-endian
// offset, the ten bytes of a versionstamp go, and whether they fit.
func stampSpot(b []byte) (int, bool) {
	if len(b) < 4 {
		return 0, false
	}
	at := int(int32(binary.LittleEndian.Uint32(b[len(b)-4:])))
	return at, at >= 0 && at+kv.VersionstampSize <= len(b)-4
}

// versionstamp returns the ten bytes of a version and a place in its batch.
func versionstamp(version int64, index uint16) []byte {
	b := make([]byte, 0, kv.VersionstampSize)
	b = binary.BigEndian.AppendUint64(b, uint64(version))
	return binary.BigEndian.AppendUint16(b, index)
}

// stamped returns b with the versionstamp in its place and without the offset.
func stamped(b, stamp []byte) []byte {
	at, ok := stampSpot(b)
	if !ok {
		return ownBytes(b[:max(0, len(b)-4)])
	}
	c := ownBytes(b[:len(b)-4])
	copy(c[at:], stamp)
	return c
}

// stampRange returns the keys that a versionstamped key may become, given that
// its version is not below least.
func stampRange(key []byte, least int64, limit []byte) (kv.KeyRange, bool) {
	at, ok := stampSpot(key)
	if !ok {
		return kv.KeyRange{}, false
	}
	begin := ownBytes(key[:len(key)-4])
	copy(begin[at:], versionstamp(least, 0))
	end := ownBytes(key[:len(key)-4])
	for i := range kv.VersionstampSize {
		end[at+i] = 0xff
	}
	end = keyAfter(end)
	if string(end) > string(limit) {
		end = limit
	}
	return kv.KeyRange{Begin: begin, End: end}, true
}
