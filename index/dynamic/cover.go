// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
)

// coverField is a field that the entries of an index copy.
type coverField struct {
	number protowire.Number
	zero   []byte // as it would be stored; a field that is not null does not store it
	preset []byte // as it would be stored: what a record without the field has; nil for none
	wire   wire.Type
	repeat bool // every occurrence counts, not the last one only
	packed bool // the elements are in packed lists
}

// setKind sets how the values of the kind are stored.
func (f *coverField) setKind(k schema.Kind) error {
	v, ok := newValue(k)
	if !ok {
		return fmt.Errorf("only the type's Go code can copy a %s", k)
	}
	f.packed = k.Wrap == "[]" && v.wire != wire.BytesType
	f.wire = v.wire
	if k.Wrap == "" && f.preset == nil {
		f.zero = zeroOf(k, v.wire)
	}
	return nil
}

// zeroOf returns how the zero of a kind would be stored, behind the tag.
func zeroOf(k schema.Kind, t wire.Type) []byte {
	switch {
	case k.Base == "time":
		return wire.AppendTimestamp(nil, time.Time{})
	case k.Base == "bytes[]":
		size, _ := strconv.Atoi(k.Arg)
		return wire.AppendBytes(nil, make([]byte, size))
	case t == wire.Fixed64Type:
		return make([]byte, 8)
	case t == wire.Fixed32Type:
		return make([]byte, 4)
	}
	return []byte{0} // a varint, or a length
}

// coverText is a kind in the part of a signature that is of copied fields: all
// integers of one sign are stored in one way.
func coverText(k schema.Kind) string {
	if key, isMap := strings.CutPrefix(k.Wrap, "map["); isMap {
		k.Wrap = "map[" + withoutWidth(strings.TrimSuffix(key, "]")) + "]"
	}
	if k.Arg == "" {
		k.Base = withoutWidth(k.Base)
	}
	return k.String()
}

// withoutWidth returns int for int8, and so on.
func withoutWidth(base string) string { return strings.TrimRight(base, "0123456789") }

// appendCopy appends the field of a record.
func (f *coverField) appendCopy(dst, payload []byte) ([]byte, error) {
	var last, list []byte
	var lastType protowire.Type
	for rest := payload; len(rest) > 0; {
		number, t, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return dst, &wire.Error{Offset: len(payload) - len(rest), Reason: "the tag is malformed"}
		}
		size := protowire.ConsumeFieldValue(number, t, rest[n:])
		if size < 0 {
			return dst, &wire.Error{Offset: len(payload) - len(rest) + n, Field: int32(number), Reason: "the value is malformed"}
		}
		value := rest[n : n+size]
		switch rest = rest[n+size:]; {
		case number != f.number:
		case f.packed:
			list = append(list, elements(t, value)...)
		case f.repeat:
			dst = append(protowire.AppendTag(dst, number, t), value...)
		default:
			last, lastType = value, t
		}
	}
	if last == nil && f.preset != nil {
		last, lastType = f.preset, protowire.Type(f.wire)
	}
	switch {
	case len(list) > 0:
		dst = protowire.AppendBytes(protowire.AppendTag(dst, f.number, protowire.BytesType), list)
	case last != nil && !bytes.Equal(last, f.zero):
		dst = append(protowire.AppendTag(dst, f.number, lastType), last...)
	}
	return dst, nil
}

// elements returns the elements of one occurrence of a list that may be packed.
func elements(t protowire.Type, value []byte) []byte {
	if t == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(value)
	}
	return value
}
