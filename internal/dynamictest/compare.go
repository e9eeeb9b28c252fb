// SPDX-License-Identifier: Apache-2.0

// Package dynamictest compares the entries that the code of persistgen makes of a
// type's records with those that package reindex makes of their bytes. A test of
// a package with generated code says:
//
//	func TestEntriesFromBytes(t *testing.T) {
//		lock, err := orderSchema.Parsed()
//		…
//		dynamictest.Compare(t, dynamictest.Code{
//			Lock: lock, Indexes: orderSchema.Indexes, Encode: orderSchema.Encode, Entries: orderSchema.Entries,
//		}, new(Order))
//	}
package dynamictest

import (
	"bytes"
	"encoding"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/seed"
)

// Code is what persistgen has written for a type, from its persistimpl.Schema.
type Code struct {
	Lock    *schema.Schema
	Indexes []index.Definition
	Encode  func(b []byte, record any) ([]byte, error)
	Entries func(i int, e *index.Entries, record any)
	Covers  func(i int, b []byte, record any) []byte // nil where no index has CoverFields
}

// records is how many random records a comparison makes.
const records = 2000

// Compare fails the test if the two make different entries of a random record, in
// any index. example is a pointer to a struct of the type. At least one record must
// have an entry in each index, so that nothing is compared with nothing.
func Compare(t *testing.T, c Code, example any) {
	t.Helper()
	random := seed.Rand(t)
	for i := range c.Indexes {
		t.Run(c.Indexes[i].KeyName(), func(t *testing.T) {
			compareIndex(t, c, i, example, random)
		})
	}
}

func compareIndex(t *testing.T, c Code, i int, example any, random *rand.Rand) {
	d := &c.Indexes[i]
	p, err := reindex.Compile(d.KeyName(), d.Layout(), c.Lock)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.Definition(), d) {
		t.Errorf("the definition is %+v, want %+v", p.Definition(), d)
	}
	entries := 0
	for range records {
		v := NewRandom(random, example)
		payload, err := c.Encode(nil, v)
		if err != nil {
			continue // a text that is not UTF-8
		}
		want, err1 := gather(d, func(e *index.Entries) error { c.Entries(i, e, v); return nil })
		got, err2 := gather(d, func(e *index.Entries) error { return p.Entries(payload, e) })
		if (err1 == nil) != (err2 == nil) || !bytes.Equal(got, want) {
			t.Fatalf("%+v\nas %x\nhas the entries\n%x, %v\nwant\n%x, %v", v, payload, got, err2, want, err1)
		}
		if entries += len(want); len(d.CoverFields) > 0 {
			compareCovers(t, p, payload, c.Covers(i, nil, v))
		}
	}
	if entries == 0 {
		t.Error("no record has an entry")
	}
}

// compareCovers compares what entries copy of a record's fields.
func compareCovers(t *testing.T, p *reindex.Program, payload, want []byte) {
	t.Helper()
	got, err := p.AppendCover(nil, payload)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the entries of the record %x copy\n%x, %v\nwant\n%x", payload, got, err, want)
	}
}

// gather returns the keys of a record's entries, with a separator after each, and with
// the amounts of a sum.
func gather(d *index.Definition, add func(e *index.Entries) error) (keys []byte, err error) {
	ix := index.Index{Definition: d, Prefix: []byte("p"), State: index.Readable}
	var set index.Set
	if err := add(set.Open(&ix, []byte{0x15, 0x07})); err != nil {
		return nil, err
	}
	if err := set.Close(&ix); err != nil {
		return nil, err
	}
	for n := range set.Keys(0) {
		keys = append(append(keys, set.Key(0, n)...), 0xff)
		if d.Kind == index.Sum {
			keys = set.Amount(0, n).AppendBytes(keys)
		}
	}
	return keys, nil
}

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
