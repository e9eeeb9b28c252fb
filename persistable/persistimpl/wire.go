// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
)

type (
	// Index describes an index of a type.
	Index = index.Definition
	// Entries receives the entries that a record has in an index.
	Entries = index.Entries
	// FieldSet is the set of fields that a version of a type knows.
	FieldSet = wire.FieldSet
	// Strings are the strings of records that are read together.
	Strings = wire.Strings
)

// The wire types of the elements of repeated fields.
const (
	VarintType  = wire.VarintType
	Fixed32Type = wire.Fixed32Type
	Fixed64Type = wire.Fixed64Type
)

// The functions of this file that begin with Encode append a field's value to a record in
// the protobuf wire format, after its tag.

// EncodeVarint appends v as a varint (uint64, bool and enum fields).
func EncodeVarint(b []byte, v uint64) []byte { return wire.AppendVarint(b, v) }

// EncodeZigzag appends v in zigzag encoding (sint64 fields).
func EncodeZigzag(b []byte, v int64) []byte { return wire.AppendZigzag(b, v) }

// EncodeBool appends v as a varint (bool fields).
func EncodeBool(b []byte, v bool) []byte { return wire.AppendBool(b, v) }

// EncodeFixed64 appends v in eight little-endian bytes.
func EncodeFixed64(b []byte, v uint64) []byte { return wire.AppendFixed64(b, v) }

// EncodeFloat32 appends v (float fields).
func EncodeFloat32(b []byte, v float32) []byte { return wire.AppendFloat32(b, v) }

// EncodeFloat64 appends v (double fields).
func EncodeFloat64(b []byte, v float64) []byte { return wire.AppendFloat64(b, v) }

// EncodeString appends v with its length (string fields).
func EncodeString(b []byte, v string) []byte { return wire.AppendString(b, v) }

// EncodeBytes appends v with its length (bytes fields).
func EncodeBytes(b, v []byte) []byte { return wire.AppendBytes(b, v) }

// EncodeTimestamp appends v as a nested google.protobuf.Timestamp.
func EncodeTimestamp(b []byte, v time.Time) []byte { return wire.AppendTimestamp(b, v) }

// EncodeDuration appends v as a nested google.protobuf.Duration.
func EncodeDuration(b []byte, v time.Duration) []byte { return wire.AppendDuration(b, v) }

// BeginMessage reserves the length of a nested message. Append the message's fields,
// then call EndMessage with the returned position.
func BeginMessage(b []byte) ([]byte, int) { return wire.BeginMessage(b) }

// EndMessage writes the length of the message that began at position at.
func EndMessage(b []byte, at int) []byte { return wire.EndMessage(b, at) }

// ValidString reports whether a string field may hold s: protobuf strings are UTF-8.
func ValidString(s string) bool { return wire.ValidString(s) }

// TooDeep returns the error about a message that has others nested in it to more than a depth.
func TooDeep(depth int) error { return wire.TooDeep(depth) }
