// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/kazahana-db/kazahana/tuple"
)

// The functions of this file put one field's value into an index key, or an id
// into a record's key, as a tuple element whose byte order is the value's
// order. They are generic over the basic kind, so that named types need no
// code of their own. None allocates beyond the growth of b.

// Signed is any signed integer kind, time.Duration and idgen.ID included.
type Signed interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64
}

// Unsigned is any unsigned integer kind.
type Unsigned interface {
	~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// AppendInt appends an integer. A time.Duration is its nanoseconds.
func AppendInt[T Signed](b []byte, v T) []byte { return tuple.AppendInt(b, int64(v)) }

// AppendUint appends an unsigned integer; it sorts among all integers.
func AppendUint[T Unsigned](b []byte, v T) []byte { return tuple.AppendUint(b, uint64(v)) }

// AppendFloat32 appends a float. Floats that mean one value have one key, so that both
// zeros are found as 0, and every NaN as math.NaN(), which sorts after +Inf: the sign
// and the other bits of a NaN depend on the processor that made it.
func AppendFloat32[T ~float32](b []byte, v T) []byte {
	switch {
	case v == 0:
		v = 0
	case v != v:
		v = T(math.NaN())
	}
	return tuple.AppendFloat32(b, float32(v))
}

// AppendFloat64 appends a float, as [AppendFloat32] does.
func AppendFloat64[T ~float64](b []byte, v T) []byte {
	switch {
	case v == 0:
		v = 0
	case v != v:
		v = T(math.NaN())
	}
	return tuple.AppendFloat64(b, float64(v))
}

// AppendBool appends a bool; false sorts first.
func AppendBool[T ~bool](b []byte, v T) []byte { return tuple.AppendBool(b, bool(v)) }

// AppendString appends a string; strings sort by their bytes.
func AppendString[T ~string](b []byte, v T) []byte { return tuple.AppendString(b, string(v)) }

// AppendBytes appends bytes; nil and empty are the same.
func AppendBytes[T ~[]byte](b []byte, v T) []byte { return tuple.AppendBytes(b, v) }

// AppendUUID appends sixteen bytes as a UUID: UUIDs and ULIDs, which sort by
// their bytes.
func AppendUUID[T ~[16]byte](b []byte, v T) []byte { return tuple.AppendUUID(b, tuple.UUID(v)) }

const nanosPerSecond = 1_000_000_000

// AppendTime appends an instant as the integer of nanoseconds since 1970 UTC:
// 128 bits, so that every time.Time has its place. Zone and monotonic reading
// do not count.
func AppendTime(b []byte, v time.Time) []byte {
	seconds := v.Unix()
	high, low := bits.Mul64(uint64(seconds), nanosPerSecond)
	if seconds < 0 {
		high -= nanosPerSecond // the sign of a two's complement factor
	}
	low, carry := bits.Add64(low, uint64(v.Nanosecond()), 0)
	return tuple.AppendInt128(b, int64(high+carry), low)
}

// AppendNullable appends what enc appends for *v, or null, which sorts before
// every value.
func AppendNullable[T any](b []byte, v *T, enc func([]byte, T) []byte) []byte {
	if v == nil {
		return tuple.AppendNil(b)
	}
	return enc(b, *v)
}

// Nullable returns the encoder of pointers to what enc encodes.
func Nullable[T any](enc func([]byte, T) []byte) func([]byte, *T) []byte {
	return func(b []byte, v *T) []byte { return AppendNullable(b, v, enc) }
}

// ReadInt reads what AppendInt wrote and returns what follows it.
func ReadInt[T Signed](b []byte) (T, []byte, error) {
	v, rest, err := tuple.ReadInt(b)
	if err == nil && int64(T(v)) != v {
		err = fmt.Errorf("index: the integer %d does not fit in %T", v, T(0))
	}
	return T(v), rest, err
}

// ReadUint reads what AppendUint wrote and returns what follows it.
func ReadUint[T Unsigned](b []byte) (T, []byte, error) {
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
