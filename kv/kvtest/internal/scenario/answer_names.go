// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Named returns the answer with each known versionstamp replaced by a name of
// it that does not depend on the engine.
func (a Answer) Named(known Stamps) Answer {
	if len(known) == 0 {
		return a
	}
	rename := func(b []byte) []byte {
		for id, stamp := range known {
			if bytes.Contains(b, stamp) {
				b = bytes.ReplaceAll(b, stamp, stampName(id))
			}
		}
		return b
	}
	return a.With(rename)
}

var ReadVersionName = []byte("‹read version›")

// AsLeast returns the answer with the names of stamps replaced by that of the
// least stamp behind the read version. An engine whose read version is that of a
// commit cannot tell the two apart.
func (a Answer) AsLeast(ids []StampID) Answer {
	if len(ids) == 0 {
		return a
	}
	least := append(bytes.Clone(ReadVersionName), 0, 0)
	return a.With(func(b []byte) []byte {
		for _, id := range ids {
			b = bytes.ReplaceAll(b, stampName(id), least)
		}
		return b
	})
}

func stampName(id StampID) []byte { return fmt.Appendf(nil, "‹stamp %d.%d›", id.Slot, id.N) }

// With returns the answer with all its bytes passed through rename.
func (a Answer) With(rename func([]byte) []byte) Answer {
	a.Bytes = rename(a.Bytes)
	a.KVs = slices.Clone(a.KVs)
	for i, pair := range a.KVs {
		a.KVs[i] = kv.KeyValue{Key: rename(pair.Key), Value: rename(pair.Value)}
	}
	a.Read, a.Write = renameRanges(a.Read, rename), renameRanges(a.Write, rename)
	return a
}

func renameRanges(ranges []kv.KeyRange, rename func([]byte) []byte) []kv.KeyRange {
	ranges = slices.Clone(ranges)
	for i, r := range ranges {
		ranges[i] = kv.KeyRange{Begin: rename(r.Begin), End: rename(r.End)}
	}
	return ranges
}
