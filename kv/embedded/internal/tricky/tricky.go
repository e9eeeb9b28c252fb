// SPDX-License-Identifier: Apache-2.0

// Package tricky makes keys for tests that faulty trees and comparisons are likely
// to get wrong.
package tricky

import (
	"bytes"
	"math/rand/v2"

	"github.com/kazahana-db/kazahana/kv"
)

// Key returns a random key: one of few or of many, short or with a long prefix,
// with zero bytes at its end or not.
func Key(r *rand.Rand) []byte {
	prefixes := []string{"", "", "\x00", "prefix", "prefix\x00\x00\x00\x00\x00\x00\x00\x00", "a prefix of more than eight bytes"}
	key := []byte(prefixes[r.IntN(len(prefixes))])
	for range min(r.IntN(4), r.IntN(4)) {
		key = append(key, "\x00\x00\x01ab\xfe"[r.IntN(6)])
	}
	return key
}

// Range returns the range between two random keys, or that of one of them.
func Range(r *rand.Rand) kv.KeyRange { return RangeOf(r, Key(r), Key(r)) }

// RangeOf returns the range between two keys, or that of one of them.
func RangeOf(r *rand.Rand, a, b []byte) kv.KeyRange {
	switch {
	case r.IntN(4) == 0:
		return kv.KeyRange{Begin: a, End: append(bytes.Clone(a), 0)}
	case bytes.Compare(a, b) > 0:
		a, b = b, a
	}
	return kv.KeyRange{Begin: a, End: b}
}
