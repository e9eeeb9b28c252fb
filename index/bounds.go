// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
)

// Bounds is a range of the keys of an index, relative to the index's prefix:
// equality on some of the first fields, then a range on the next one. It is
// immutable; the zero Bounds is the whole index. Values are given as packed
// tuple elements.
//
// Every key continues behind a value with a tuple element, whose first byte is
// below 0xff, or ends there. A string that begins with another string and a
// zero byte continues with 0xff. So all keys that have the value v lie between
// v and v+0xff, and all greater values at or behind v+0xff.
type Bounds struct {
	equal []byte // the packed values of the fields with equality
	begin []byte // included; nil means equal
	end   []byte // excluded; nil means equal+0xff
}

const afterValue = 0xff

// Equal narrows the bounds to keys whose next fields have the values.
func (b Bounds) Equal(values []byte) Bounds {
	return Bounds{equal: slices.Concat(b.equal, values)}
}

// EqualValues returns the packed values of Equal, with which all keys within the bounds
// begin. They must not be changed.
func (b Bounds) EqualValues() []byte { return b.equal }

// From narrows the bounds to values of the next field not below v.
func (b Bounds) From(v []byte) Bounds { return b.raiseBegin(slices.Concat(b.equal, v)) }

// After narrows the bounds to values of the next field above v.
func (b Bounds) After(v []byte) Bounds {
	return b.raiseBegin(append(slices.Concat(b.equal, v), afterValue))
}

// To narrows the bounds to values of the next field not above v.
func (b Bounds) To(v []byte) Bounds {
	return b.lowerEnd(append(slices.Concat(b.equal, v), afterValue))
}

// Before narrows the bounds to values of the next field below v.
func (b Bounds) Before(v []byte) Bounds { return b.lowerEnd(slices.Concat(b.equal, v)) }

func (b Bounds) raiseBegin(begin []byte) Bounds {
	if b.begin == nil || bytes.Compare(begin, b.begin) > 0 {
		b.begin = begin
	}
	return b
}

func (b Bounds) lowerEnd(end []byte) Bounds {
	if b.end == nil || bytes.Compare(end, b.end) < 0 {
		b.end = end
	}
	return b
}

// Resume narrows the bounds to keys behind key, which is relative to the
// prefix, in the direction of the scan.
func (b Bounds) Resume(key []byte, reverse bool) Bounds {
	if reverse {
		return b.lowerEnd(slices.Clone(key))
	}
	return b.raiseBegin(kv.Successor(key))
}

// StartAt narrows the bounds to keys not below key, which is relative to the prefix.
func (b Bounds) StartAt(key []byte) Bounds { return b.raiseBegin(slices.Clone(key)) }

// EndBefore narrows the bounds to keys below key, which is relative to the prefix.
func (b Bounds) EndBefore(key []byte) Bounds { return b.lowerEnd(slices.Clone(key)) }

// Range returns the keys of an index with the prefix. It is empty, never
// inverted, where nothing can be within the bounds.
func (b Bounds) Range(prefix []byte) kv.KeyRange {
	begin, end := b.begin, b.end
	if begin == nil {
		begin = b.equal
	}
	if end == nil {
		end = append(slices.Clone(b.equal), afterValue)
	}
	if bytes.Compare(begin, end) > 0 {
		end = begin
	}
	return kv.KeyRange{Begin: slices.Concat(prefix, begin), End: slices.Concat(prefix, end)}
}

// Contains reports whether the key, relative to the prefix, is within the bounds.
func (b Bounds) Contains(key []byte) bool {
	r := b.Range(nil)
	return bytes.Compare(key, r.Begin) >= 0 && bytes.Compare(key, r.End) < 0
}

// AppendBytes appends an encoding of the bounds that differs for different
// bounds: what a page token is bound to.
func (b Bounds) AppendBytes(dst []byte) []byte {
	r := b.Range(nil)
	dst = appendFramed(dst, b.equal)
	dst = appendFramed(dst, r.Begin)
	return appendFramed(dst, r.End)
}

func appendFramed(dst, v []byte) []byte {
	n := len(v)
	dst = append(dst, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	return append(dst, v...)
}
