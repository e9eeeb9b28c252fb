// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// AppendVarint appends v as a varint (uint64, bool and enum fields).
func AppendVarint(b []byte, v uint64) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return protowire.AppendVarint(b, v)
}

// AppendZigzag appends v in zigzag encoding (sint64 fields).
func AppendZigzag(b []byte, v int64) []byte { return AppendVarint(b, protowire.EncodeZigZag(v)) }

// AppendBool appends v as a varint (bool fields).
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendFixed32 appends v in four little-endian bytes.
func AppendFixed32(b []byte, v uint32) []byte { return protowire.AppendFixed32(b, v) }

// AppendFixed64 appends v in eight little-endian bytes.
func AppendFixed64(b []byte, v uint64) []byte { return protowire.AppendFixed64(b, v) }

// AppendFloat32 appends v (float fields).
func AppendFloat32(b []byte, v float32) []byte {
	return protowire.AppendFixed32(b, math.Float32bits(v))
}

// AppendFloat64 appends v (double fields).
func AppendFloat64(b []byte, v float64) []byte {
	return protowire.AppendFixed64(b, math.Float64bits(v))
}

// AppendString appends v with its length (string fields).
func AppendString(b []byte, v string) []byte {
	return append(AppendVarint(b, uint64(len(v))), v...)
}

// AppendBytes appends v with its length (bytes fields).
func AppendBytes(b, v []byte) []byte {
	return append(AppendVarint(b, uint64(len(v))), v...)
}

// BeginMessage reserves the length of a nested message. Append the message's
// fields, then call [EndMessage] with the returned position.
func BeginMessage(b []byte) ([]byte, int) {
	b = append(b, 0)
	return b, len(b)
}

// EndMessage writes the length of the message that began at position at.
func EndMessage(b []byte, at int) []byte {
	size := len(b) - at
	if size < 0x80 {
		b[at-1] = byte(size)
		return b
	}
	extra := protowire.SizeVarint(uint64(size)) - 1
	for range extra {
		b = append(b, 0)
	}
	copy(b[at+extra:], b[at:at+size])
	protowire.AppendVarint(b[:at-1], uint64(size))
	return b
}

const nanosPerSecond = 1_000_000_000

// AppendTimestamp appends v as a nested google.protobuf.Timestamp. The zero
// time.Time is a value like another; generated code omits it.
func AppendTimestamp(b []byte, v time.Time) []byte {
	return appendSecondsNanos(b, v.Unix(), int64(v.Nanosecond()))
}

// AppendDuration appends v as a nested google.protobuf.Duration.
func AppendDuration(b []byte, v time.Duration) []byte {
	return appendSecondsNanos(b, int64(v/time.Second), int64(v%time.Second))
}

// appendSecondsNanos appends the message that Timestamp and Duration share:
// int64 seconds = 1, int32 nanos = 2.
func appendSecondsNanos(b []byte, seconds, nanos int64) []byte {
	b, at := BeginMessage(b)
	if seconds != 0 {
		b = AppendVarint(append(b, 0x08), uint64(seconds))
	}
	if nanos != 0 {
		b = AppendVarint(append(b, 0x10), uint64(nanos))
	}
	return EndMessage(b, at)
}

// ValidString reports whether a string field may hold s: protobuf strings are
// UTF-8.
func ValidString(s string) bool { return utf8.ValidString(s) }

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

// KeepFields returns the fields of a message that have one of the numbers.
func KeepFields(message []byte, numbers []int32) (kept []byte, err error) {
	for len(message) > 0 {
		number, _, n := protowire.ConsumeField(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if slices.Contains(numbers, int32(number)) {
			kept = append(kept, message[:n]...)
		}
		message = message[n:]
	}
	return kept, nil
}
