// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/kazahana-db/kazahana/kv"
)

// Merge returns ranges in order, those that overlap or touch as one.
func Merge(ranges []kv.KeyRange) []kv.KeyRange {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b kv.KeyRange) int { return bytes.Compare(a.Begin, b.Begin) })
	var out []kv.KeyRange
	for _, r := range sorted {
		if n := len(out); n > 0 && bytes.Compare(out[n-1].End, r.Begin) >= 0 {
			out[n-1].End = Max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Own copies b. The copy is not nil. A zero byte follows it in memory, which
// [OwnedSuccessor] takes in.
func Own(b []byte) []byte {
	c := make([]byte, len(b)+1)
	copy(c, b)
	return c[:len(b)]
}

// OwnedSuccessor returns the successor of a key that [Own] returned. It shares the
// key's memory.
func OwnedSuccessor(key []byte) []byte { return key[: len(key)+1 : len(key)+1] }

// Single returns the range of one key, which it copies.
func Single(key []byte) kv.KeyRange {
	own := Own(key)
	return kv.KeyRange{Begin: own, End: OwnedSuccessor(own)}
}

// IsSuccessor reports whether next is the successor of key.
func IsSuccessor(next, key []byte) bool {
	n := len(key)
	return len(next) == n+1 && next[n] == 0 && bytes.Equal(next[:n], key)
}

// SharedSuccessor returns the successor of a key that is never modified. Where a
// zero byte follows the key in memory, as behind that of [Own], it shares the
// key's memory.
func SharedSuccessor(key []byte) []byte {
	if n := len(key); n < cap(key) && key[:n+1][n] == 0 {
		return key[: n+1 : n+1]
	}
	return Successor(key)
}

// Successor returns the first key after key, in memory of its own.
func Successor(key []byte) []byte {
	after := make([]byte, len(key)+1, len(key)+2)
	copy(after, key)
	return after[: len(key)+1 : len(key)+2]
}

// Holds reports whether r holds key, or with below the keys just below it.
func Holds(r kv.KeyRange, key []byte, below bool) bool {
	if below {
		return bytes.Compare(r.Begin, key) < 0 && bytes.Compare(key, r.End) <= 0
	}
	return bytes.Compare(r.Begin, key) <= 0 && bytes.Compare(key, r.End) < 0
}

// Printable shows a key in an error, cut to a readable length.
func Printable(key []byte) string {
	const most = 64
	if len(key) > most {
		return strconv.Quote(string(key[:most])) + "…"
	}
	return strconv.Quote(string(key))
}

// SystemEnd is above every key that can be written.
var SystemEnd = []byte{0xff, 0xff}

// Max returns the higher of two keys.
func Max(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

// Min returns the lower of two keys.
func Min(a, b []byte) []byte {
	if bytes.Compare(a, b) > 0 {
		return b
	}
	return a
}
