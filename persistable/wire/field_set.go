// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// FieldSet is the set of fields that a version of a type knows. With it, fields
// written by a newer version survive a read-modify-write by an older one.
type FieldSet struct {
	Numbers  []int32             // the known field numbers, ascending
	Messages map[int32]*FieldSet // those that hold a single nested message
	Optional bool                // as a nested message: held by pointer, so that absent differs from empty
}

func (s *FieldSet) has(number int32) bool {
	_, found := slices.BinarySearch(s.Numbers, number)
	return found
}

// MergeUnknown appends to the message dst, which begins at dst[at:], the fields
// of its earlier form old that k does not know; in single nested messages too.
// A nested message held by pointer that dst no longer has stays absent.
// Elements of repeated nested messages and map values have no identity over a
// change: their unknown fields are not carried over.
func MergeUnknown(dst []byte, at int, old []byte, k *FieldSet) ([]byte, error) {
	return mergeUnknown(dst, dst[at:len(dst):len(dst)], old, k)
}

// mergeUnknown appends to dst the unknown fields of old, where now is the
// message's present form.
func mergeUnknown(dst, now, old []byte, k *FieldSet) ([]byte, error) {
	var nested []int32
	end := len(dst)
	r := NewReader(old)
	for start := 0; r.Next(); start = r.pos {
		number := r.Field()
		r.Skip()
		switch {
		case r.Err() != nil:
		case !k.has(number):
			dst = append(dst, old[start:r.pos]...)
		case k.Messages[number] != nil && !slices.Contains(nested, number):
			nested = append(nested, number)
		}
	}
	if r.Err() != nil {
		return dst[:end], r.Err()
	}
	for _, number := range nested {
		var err error
		if dst, err = mergeNested(dst, now, old, number, k.Messages[number]); err != nil {
			return dst[:end], err
		}
	}
	return dst, nil
}

// mergeNested appends one more occurrence of a nested message, holding only
// the unknown fields: readers merge the occurrences of a single message.
func mergeNested(dst, now, old []byte, number int32, k *FieldSet) ([]byte, error) {
	nowNested, found, err := occurrences(now, number)
	if err != nil || k.Optional && !found {
		return dst, err
	}
	oldNested, _, err := occurrences(old, number)
	if err != nil {
		return dst, err
	}
	end := len(dst)
	dst = protowire.AppendTag(dst, protowire.Number(number), protowire.BytesType)
	dst, from := BeginMessage(dst)
	dst, err = mergeUnknown(dst, nowNested, oldNested, k)
	if err != nil || len(dst) == from {
		return dst[:end], err
	}
	return EndMessage(dst, from), nil
}

// occurrences returns the concatenated contents of a nested message's
// occurrences, which is the encoding of their merge.
func occurrences(message []byte, number int32) (content []byte, found bool, err error) {
	r := NewReader(message)
	for r.Next() {
		if r.Field() != number {
			r.Skip()
			continue
		}
		content, found = append(content, r.Message()...), true
	}
	return content, found, r.Err()
}
