// SPDX-License-Identifier: Apache-2.0

package dynamictest

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/index/dynamic"
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
	p, err := dynamic.Compile(d.KeyName(), d.Layout(), c.Lock)
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
func compareCovers(t *testing.T, p *dynamic.Program, payload, want []byte) {
	t.Helper()
	got, err := p.AppendCover(nil, payload)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the entries of the record %x copy\n%x, %v\nwant\n%x", payload, got, err, want)
	}
}

// gather returns the keys of a record's entries, with a separator behind each, and with
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
