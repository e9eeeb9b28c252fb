// SPDX-License-Identifier: Apache-2.0

package dynamictest

import (
	"encoding"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"
)

// NewRandom returns a pointer to a new struct of example's type with random values
// in its exported fields: many zeros, nulls, repetitions, and values at the limits.
// Fields that marshal themselves stay zero.
func NewRandom(r *rand.Rand, example any) any {
	v := reflect.New(reflect.TypeOf(example).Elem())
	fill(r, v.Elem(), 0)
	return v.Interface()
}

// maxDepth ends structs that contain themselves.
const maxDepth = 4

func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Addr().Interface().(type) {
	case *time.Time:
		v.Set(reflect.ValueOf(randomTime(r)))
		return
	case encoding.TextMarshaler, encoding.BinaryMarshaler:
		if v.Kind() != reflect.Array { // of bytes, which is stored as it is
			return
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		fillStruct(r, v, depth)
	case reflect.Pointer:
		if depth < maxDepth && r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		fillSlice(r, v, depth)
	case reflect.Array:
		for i := range v.Len() * r.IntN(2) {
			fill(r, v.Index(i), depth)
		}
	default:
		fillPlain(r, v)
	}
}

func fillStruct(r *rand.Rand, v reflect.Value, depth int) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if v.Field(i).CanSet() && !strings.HasPrefix(f.Tag.Get("persist"), "-") {
			fill(r, v.Field(i), depth)
		}
	}
}

func fillSlice(r *rand.Rand, v reflect.Value, depth int) {
	if depth >= maxDepth {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
	for i := range v.Len() {
		fill(r, v.Index(i), depth+1)
	}
}

func fillPlain(r *rand.Rand, v reflect.Value) {
	switch {
	case v.CanInt():
		v.SetInt(pick(r, 0, 0, 1, 1, -1, 255, -256, math.MaxInt64, math.MinInt64, int64(r.Uint64())))
	case v.CanUint():
		v.SetUint(pick(r, 0, 0, 1, 1, 127, 128, 255, math.MaxUint64, math.MaxInt64+1, r.Uint64()))
	case v.CanFloat():
		v.SetFloat(pick(r, 0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, r.NormFloat64()))
	case v.Kind() == reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case v.Kind() == reflect.String:
		v.SetString(pick(r, "", "", "a", "a", "ab", "a\x00b", "\x00", "\x00\x00", "Köln", strings.Repeat("x", r.IntN(300))))
	}
}

func randomTime(r *rand.Rand) time.Time {
	return pick(r,
		time.Time{}, time.Time{}, time.Unix(0, 0).UTC(), time.Unix(-1, 999_999_999).UTC(), time.Unix(1, 1).UTC(),
		time.Date(1066, 10, 14, 9, 0, 0, 1, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Unix(r.Int64N(1<<40)-1<<39, r.Int64N(1e9)).In(time.FixedZone("", 3600)),
	)
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
