// SPDX-License-Identifier: Apache-2.0

package persistimpl

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/tuple"
)

// The functions of this file put one field's value into an index key, or an id
// into a record's key, as a tuple element, and read it back. The elements sort, by
// their bytes, as the values do. They are generic over the basic kind, so that named
// types need no code of their own. None allocates beyond the growth of b.

// AppendInt appends an integer. A time.Duration is its nanoseconds.
func AppendInt[T ~int | ~int8 | ~int16 | ~int32 | ~int64](b []byte, v T) []byte {
	return tuple.AppendInt(b, int64(v))
}

// AppendUint appends an unsigned integer; it sorts among all integers.
func AppendUint[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](b []byte, v T) []byte {
	return tuple.AppendUint(b, uint64(v))
}

// AppendFloat32 appends a float. Floats that mean one value have one key, so that both
// zeros are found as 0, and every NaN as math.NaN(), which sorts after +Inf: the sign
// and the other bits of a NaN depend on the processor that made it.
func AppendFloat32[T ~float32](b []byte, v T) []byte { return index.AppendFloat32(b, float32(v)) }

// AppendFloat64 appends a float, as [AppendFloat32] does.
func AppendFloat64[T ~float64](b []byte, v T) []byte { return index.AppendFloat64(b, float64(v)) }

// AppendBool appends a bool; false sorts first.
func AppendBool[T ~bool](b []byte, v T) []byte { return tuple.AppendBool(b, bool(v)) }

// AppendString appends a string; strings sort by their bytes.
func AppendString[T ~string](b []byte, v T) []byte { return tuple.AppendString(b, string(v)) }

// AppendBytes appends bytes; nil and empty are the same.
func AppendBytes[T ~[]byte](b []byte, v T) []byte { return tuple.AppendBytes(b, v) }

// AppendUUID appends sixteen bytes as a UUID: UUIDs and ULIDs, which sort by
// their bytes.
func AppendUUID[T ~[16]byte](b []byte, v T) []byte { return tuple.AppendUUID(b, tuple.UUID(v)) }

// AppendTime appends an instant as the integer of nanoseconds since 1970 UTC. Zone and
// monotonic reading do not count.
func AppendTime(b []byte, v time.Time) []byte { return index.AppendTime(b, v) }

// AppendNullable appends what encode appends for *v, or null, which sorts before
// every value.
func AppendNullable[T any](b []byte, v *T, encode func([]byte, T) []byte) []byte {
	if v == nil {
		return tuple.AppendNil(b)
	}
	return encode(b, *v)
}

// Nullable returns the encoder of pointers to what encode encodes.
func Nullable[T any](encode func([]byte, T) []byte) func([]byte, *T) []byte {
	return func(b []byte, v *T) []byte { return AppendNullable(b, v, encode) }
}

// Descend replaces the tuple element k[n:] by one that sorts in the opposite order.
func Descend(k []byte, n int) []byte { return index.Descend(k, n) }

// Descending returns an encoder that makes elements sort in the opposite order of
// those of encode.
func Descending[T any](encode func([]byte, T) []byte) func([]byte, T) []byte {
	return func(b []byte, v T) []byte { return index.Descend(encode(b, v), len(b)) }
}

// ReadInt reads what AppendInt wrote and returns what follows it.
func ReadInt[T ~int | ~int8 | ~int16 | ~int32 | ~int64](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadInt(b)
	if err == nil && int64(T(v)) != v {
		err = fmt.Errorf("index: the integer %d does not fit in %T", v, T(0))
	}
	return T(v), rest, err
}

// ReadUint reads what AppendUint wrote and returns what follows it.
func ReadUint[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadUint(b)
	if err == nil && uint64(T(v)) != v {
		err = fmt.Errorf("index: the integer %d does not fit in %T", v, T(0))
	}
	return T(v), rest, err
}

// ReadFloat32 reads what AppendFloat32 wrote and returns what follows it.
func ReadFloat32[T ~float32](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadFloat32(b)
	return T(v), rest, err
}

// ReadFloat64 reads what AppendFloat64 wrote and returns what follows it.
func ReadFloat64[T ~float64](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadFloat64(b)
	return T(v), rest, err
}

// ReadBool reads what AppendBool wrote and returns what follows it.
func ReadBool[T ~bool](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadBool(b)
	return T(v), rest, err
}

// ReadString reads what AppendString wrote and returns what follows it.
func ReadString[T ~string](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadString(b)
	return T(v), rest, err
}

// ReadBytes reads what AppendBytes wrote and returns what follows it.
func ReadBytes[T ~[]byte](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadBytes(b)
	return T(v), rest, err
}

// ReadUUID reads what AppendUUID wrote and returns what follows it.
func ReadUUID[T ~[16]byte](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadUUID(b)
	return T(v), rest, err
}

// ReadTime reads what AppendTime wrote and returns what follows it. The time is in UTC.
func ReadTime(b []byte) (v time.Time, rest []byte, err error) { return index.ReadTime(b) }

// ReadNullable returns the reader of what AppendNullable wrote with the encoder of the
// values that read reads: nil for null.
func ReadNullable[T any](read func([]byte) (T, []byte, error)) func([]byte) (*T, []byte, error) {
	return func(b []byte) (*T, []byte, error) {
		if tuple.IsNil(b) {
			rest, err := tuple.ReadNil(b)
			return nil, rest, err
		}
		v, rest, err := read(b)
		if err != nil {
			return nil, nil, err
		}
		return &v, rest, nil
	}
}

// ReadDescending returns the reader of what Descending wrote with the encoder of the
// values that read reads.
func ReadDescending[T any](read func([]byte) (T, []byte, error)) func([]byte) (T, []byte, error) {
	return func(b []byte) (v T, rest []byte, err error) {
		element, rest, err := index.ReadDescended(nil, b)
		if err == nil {
			v, _, err = read(element)
		}
		return v, rest, err
	}
}
