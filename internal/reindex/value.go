// SPDX-License-Identifier: Apache-2.0

package reindex

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// value is how the values of a kind are stored, and how they stand in keys.
type value struct {
	key    string    // the kind in the signature of an index
	wire   wire.Type // of one value
	append appendFunc
	zero   []byte // what stands in a key for a value that is not stored
}

// appendFunc reads the value that a reader has reached and appends it to a key. The
// caller asks the reader for its error.
type appendFunc func(b []byte, r *wire.Reader) []byte

// values are the kinds that can be in a key, but for integers of a given width and
// byte arrays.
var values = map[string]value{
	"bool": {"bool", wire.VarintType, func(b []byte, r *wire.Reader) []byte {
		return tuple.AppendBool(b, r.Bool())
	}, tuple.AppendBool(nil, false)},
	"id": {"int", wire.Fixed64Type, func(b []byte, r *wire.Reader) []byte {
		return tuple.AppendInt(b, int64(r.Fixed64()))
	}, tuple.AppendInt(nil, 0)},
	"float": {"float", wire.Fixed32Type, func(b []byte, r *wire.Reader) []byte {
		return index.AppendFloat32(b, r.Float32())
	}, index.AppendFloat32(nil, float32(0))},
	"double": {"double", wire.Fixed64Type, func(b []byte, r *wire.Reader) []byte {
		return index.AppendFloat64(b, r.Float64())
	}, index.AppendFloat64(nil, float64(0))},
	"string": {"string", wire.BytesType, func(b []byte, r *wire.Reader) []byte {
		return tuple.AppendString(b, r.String())
	}, tuple.AppendString(nil, "")},
	"bytes": {"bytes", wire.BytesType, func(b []byte, r *wire.Reader) []byte {
		return tuple.AppendBytes(b, r.Message())
	}, tuple.AppendBytes(nil, nil)},
	"time": {"time", wire.BytesType, func(b []byte, r *wire.Reader) []byte {
		return index.AppendTime(b, r.Timestamp())
	}, index.AppendTime(nil, time.Time{})},
	"duration": {"duration", wire.BytesType, func(b []byte, r *wire.Reader) []byte {
		return tuple.AppendInt(b, int64(r.Duration()))
	}, tuple.AppendInt(nil, 0)},
}

// newValue returns how the values of a kind are stored, without what is around the
// kind. It reports false for kinds that cannot be in a key.
func newValue(k schema.Kind) (v value, ok bool) {
	if v, ok = values[k.Base]; ok {
		return v, true
	}
	if k.Base == "bytes[]" {
		return newArray(k.Arg)
	}
	word := strings.TrimRight(k.Base, "0123456789")
	bits, err := strconv.Atoi(k.Base[len(word):])
	if err != nil {
		return v, false
	}
	v = value{key: "int", wire: wire.VarintType, zero: tuple.AppendInt(nil, 0)}
	switch word {
	case "int":
		v.append = func(b []byte, r *wire.Reader) []byte { return tuple.AppendInt(b, r.Int(bits)) }
	case "uint":
		v.append = func(b []byte, r *wire.Reader) []byte { return tuple.AppendUint(b, r.Uint(bits)) }
	default:
		return v, false
	}
	return v, true
}

// newArray is newValue for byte arrays. Sixteen bytes are a UUID in keys. An array
// that is longer than a key is in no index.
func newArray(length string) (v value, ok bool) {
	size, err := strconv.Atoi(length)
	if err != nil || size > kv.MaxKeySize {
		return v, false
	}
	appendArray := func(b, data []byte) []byte { return tuple.AppendBytes(b, data) }
	v = value{key: "bytes", wire: wire.BytesType}
	if size == 16 {
		v.key = "uuid"
		appendArray = func(b, data []byte) []byte { return tuple.AppendUUID(b, [16]byte(data)) }
	}
	v.zero = appendArray(nil, make([]byte, size))
	v.append = func(b []byte, r *wire.Reader) []byte {
		data := r.Message()
		if r.Err() == nil && len(data) != size {
			r.Check(fmt.Errorf("%d bytes where %d belong", len(data), size))
		}
		if r.Err() != nil {
			return b
		}
		return appendArray(b, data)
	}
	return v, true
}

// absent returns what stands in a key for a field that is not stored.
func (v *value) absent(f *schema.Field) []byte {
	stored := preset(f)
	if stored == nil {
		return v.zero
	}
	r := wire.NewReader(append(wire.AppendVarint(nil, uint64(f.Number)<<3|uint64(v.wire)), stored...))
	r.Next()
	return v.append(nil, &r)
}

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

// zeroOf returns how the zero of a kind would be stored, after the tag.
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
