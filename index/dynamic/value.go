// SPDX-License-Identifier: Apache-2.0

package dynamic

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/wire"
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
		return index.AppendBool(b, r.Bool())
	}, index.AppendBool(nil, false)},
	"id": {"int", wire.Fixed64Type, func(b []byte, r *wire.Reader) []byte {
		return index.AppendInt(b, int64(r.Fixed64()))
	}, index.AppendInt(nil, 0)},
	"float": {"float", wire.Fixed32Type, func(b []byte, r *wire.Reader) []byte {
		return index.AppendFloat32(b, r.Float32())
	}, index.AppendFloat32(nil, float32(0))},
	"double": {"double", wire.Fixed64Type, func(b []byte, r *wire.Reader) []byte {
		return index.AppendFloat64(b, r.Float64())
	}, index.AppendFloat64(nil, float64(0))},
	"string": {"string", wire.BytesType, func(b []byte, r *wire.Reader) []byte {
		return index.AppendString(b, r.String())
	}, index.AppendString(nil, "")},
	"bytes": {"bytes", wire.BytesType, func(b []byte, r *wire.Reader) []byte {
		return index.AppendBytes(b, r.Message())
	}, index.AppendBytes(nil, []byte(nil))},
	"time": {"time", wire.BytesType, func(b []byte, r *wire.Reader) []byte {
		return index.AppendTime(b, r.Timestamp())
	}, index.AppendTime(nil, time.Time{})},
	"duration": {"duration", wire.BytesType, func(b []byte, r *wire.Reader) []byte {
		return index.AppendInt(b, r.Duration())
	}, index.AppendInt(nil, 0)},
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
	v = value{key: "int", wire: wire.VarintType, zero: index.AppendInt(nil, 0)}
	switch word {
	case "int":
		v.append = func(b []byte, r *wire.Reader) []byte { return index.AppendInt(b, r.Int(bits)) }
	case "uint":
		v.append = func(b []byte, r *wire.Reader) []byte { return index.AppendUint(b, r.Uint(bits)) }
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
	appendArray := func(b, data []byte) []byte { return index.AppendBytes(b, data) }
	v = value{key: "bytes", wire: wire.BytesType}
	if size == 16 {
		v.key = "uuid"
		appendArray = func(b, data []byte) []byte { return index.AppendUUID(b, [16]byte(data)) }
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
