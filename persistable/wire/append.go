// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"math"
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
