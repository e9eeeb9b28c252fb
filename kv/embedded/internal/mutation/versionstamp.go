// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"encoding/binary"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

// StampOffset returns where in b, whose last four bytes are a little-endian
// offset, the ten bytes of a versionstamp go, and whether they fit.
func StampOffset(b []byte) (int, bool) {
	if len(b) < 4 {
		return 0, false
	}
	at := int(int32(binary.LittleEndian.Uint32(b[len(b)-4:])))
	return at, at >= 0 && at+kv.VersionstampSize <= len(b)-4
}

// Versionstamp returns the ten bytes of a version and a place in its batch.
func Versionstamp(version int64, index uint16) []byte {
	b := make([]byte, 0, kv.VersionstampSize)
	b = binary.BigEndian.AppendUint64(b, uint64(version))
	return binary.BigEndian.AppendUint16(b, index)
}

// FillStamp returns b with the versionstamp in its place and without the offset.
func FillStamp(b, stamp []byte) []byte {
	at, ok := StampOffset(b)
	if !ok {
		return keys.Own(b[:max(0, len(b)-4)])
	}
	c := keys.Own(b[:len(b)-4])
	copy(c[at:], stamp)
	return c
}

// StampRange returns the keys that a versionstamped key may become, given that
// its version is not below least.
func StampRange(key []byte, least int64, limit []byte) (kv.KeyRange, bool) {
	at, ok := StampOffset(key)
	if !ok {
		return kv.KeyRange{}, false
	}
	begin := keys.Own(key[:len(key)-4])
	copy(begin[at:], Versionstamp(least, 0))
	end := keys.Own(key[:len(key)-4])
	for i := range kv.VersionstampSize {
		end[at+i] = 0xff
	}
	end = keys.OwnedSuccessor(end)
	if string(end) > string(limit) {
		end = limit
	}
	return kv.KeyRange{Begin: begin, End: end}, true
}
