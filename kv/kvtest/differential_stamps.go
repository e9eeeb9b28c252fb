// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// named returns the answer with each known versionstamp replaced by a name of
// it that does not depend on the engine.
func (a answer) named(known stamps) answer {
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
	return a.with(rename)
}

// comparableRanges asks for the conflict ranges, and takes out what is particular
// to an engine: the read version, at which the range of a versionstamped key begins,
// and the system keys, of which selectors that run off the end may meet some.
func comparableRanges(ctx context.Context, r *replay, s *slot, st *step) answer {
	a := conflictRanges(ctx, r, s, st)
	if a.kind == "error" {
		return a
	}
	version, err := s.tx.GetReadVersion().Get(ctx)
	if err != nil {
		return a
	}
	first := binary.BigEndian.AppendUint64(nil, uint64(version))
	r.current = nil
	least := append(bytes.Clone(first), 0, 0) // of the stamps that a key may get
	for id, stamp := range r.known {
		if bytes.Equal(stamp, least) {
			r.current = append(r.current, id)
		}
	}
	a = a.with(func(b []byte) []byte {
		if bytes.HasPrefix(b, userKeys().End) {
			return userKeys().End
		}
		return bytes.ReplaceAll(b, first, readVersionName)
	})
	a.read, a.write = slices.DeleteFunc(a.read, isEmpty), slices.DeleteFunc(a.write, isEmpty)
	return a
}

var readVersionName = []byte("‹read version›")

// asLeast returns the answer with the names of stamps replaced by that of the
// least stamp behind the read version. An engine whose read version is that of a
// commit cannot tell the two apart.
func (a answer) asLeast(ids []stampID) answer {
	if len(ids) == 0 {
		return a
	}
	least := append(bytes.Clone(readVersionName), 0, 0)
	return a.with(func(b []byte) []byte {
		for _, id := range ids {
			b = bytes.ReplaceAll(b, stampName(id), least)
		}
		return b
	})
}

func stampName(id stampID) []byte { return fmt.Appendf(nil, "‹stamp %d.%d›", id.Slot, id.N) }

func isEmpty(r kv.KeyRange) bool { return bytes.Equal(r.Begin, r.End) }

// with returns the answer with all its bytes passed through rename.
func (a answer) with(rename func([]byte) []byte) answer {
	a.bytes = rename(a.bytes)
	a.kvs = slices.Clone(a.kvs)
	for i, pair := range a.kvs {
		a.kvs[i] = kv.KeyValue{Key: rename(pair.Key), Value: rename(pair.Value)}
	}
	a.read, a.write = renameRanges(a.read, rename), renameRanges(a.write, rename)
	return a
}

func renameRanges(ranges []kv.KeyRange, rename func([]byte) []byte) []kv.KeyRange {
	ranges = slices.Clone(ranges)
	for i, r := range ranges {
		ranges[i] = kv.KeyRange{Begin: rename(r.Begin), End: rename(r.End)}
	}
	return ranges
}
