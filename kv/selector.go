// SPDX-License-Identifier: Apache-2.0

package kv

import "fmt"

// KeySelector selects a stored key by its position relative to Key, which need
// not be stored: start at the last key less than Key (or, with OrEqual, less than
// or equal to Key) and move Offset keys forward. Make one with
// [FirstGreaterOrEqual], [FirstGreaterThan], [LastLessOrEqual] or [LastLessThan].
type KeySelector struct {
	Key     []byte
	OrEqual bool
	Offset  int
}

// LastLessThan selects the greatest key less than key.
func LastLessThan(key []byte) KeySelector { return KeySelector{key, false, 0} }

// LastLessOrEqual selects the greatest key less than or equal to key.
func LastLessOrEqual(key []byte) KeySelector { return KeySelector{key, true, 0} }

// FirstGreaterThan selects the least key greater than key.
func FirstGreaterThan(key []byte) KeySelector { return KeySelector{key, true, 1} }

// FirstGreaterOrEqual selects the least key greater than or equal to key.
func FirstGreaterOrEqual(key []byte) KeySelector { return KeySelector{key, false, 1} }

// Add returns the selector moved n keys forward (backward if n is negative).
func (s KeySelector) Add(n int) KeySelector { s.Offset += n; return s }

// String returns the selector as a call of its constructor.
func (s KeySelector) String() string {
	name, extra := "LastLessThan", s.Offset
	switch {
	case s.OrEqual && s.Offset > 0:
		name, extra = "FirstGreaterThan", s.Offset-1
	case s.OrEqual:
		name = "LastLessOrEqual"
	case s.Offset > 0:
		name, extra = "FirstGreaterOrEqual", s.Offset-1
	}
	if extra == 0 {
		return fmt.Sprintf("%s(%q)", name, s.Key)
	}
	return fmt.Sprintf("%s(%q)%+d", name, s.Key, extra)
}

// KeyRange is the keys from Begin (included) to End (excluded).
type KeyRange struct{ Begin, End []byte }

// SelectorRange is a range whose ends are selectors.
type SelectorRange struct{ Begin, End KeySelector }

// Selectors returns r as a selector range.
func (r KeyRange) Selectors() SelectorRange {
	return SelectorRange{FirstGreaterOrEqual(r.Begin), FirstGreaterOrEqual(r.End)}
}

// PrefixRange returns the range of all keys that begin with prefix. The range of
// an empty prefix, or one of 0xff bytes only, has no [PrefixEnd]: it ends at
// "\xff\xff".
func PrefixRange(prefix []byte) KeyRange {
	end, ok := PrefixEnd(prefix)
	if !ok {
		end = []byte{0xff, 0xff}
	}
	return KeyRange{append([]byte(nil), prefix...), end}
}

// PrefixEnd returns the least key greater than every key that begins with
// prefix (FoundationDB's strinc), and false if there is none because prefix is
// empty or holds only 0xff bytes.
func PrefixEnd(prefix []byte) ([]byte, bool) {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end, true
		}
	}
	return nil, false
}

// Successor returns the least key greater than key.
func Successor(key []byte) []byte {
	after := make([]byte, len(key)+1)
	copy(after, key)
	return after
}

// KeyValue is one pair of the database.
type KeyValue struct{ Key, Value []byte }

// clone copies the keys, both into one new slice.
func (r SelectorRange) clone() SelectorRange {
	keys := make([]byte, 0, len(r.Begin.Key)+len(r.End.Key))
	keys = append(append(keys, r.Begin.Key...), r.End.Key...)
	border := len(r.Begin.Key)
	r.Begin.Key, r.End.Key = keys[:border:border], keys[border:]
	return r
}
