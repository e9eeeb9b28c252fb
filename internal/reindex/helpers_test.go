// SPDX-License-Identifier: Apache-2.0

package reindex_test

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/persistable/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// order is a type with fields of many kinds, and of changed ones.
const order = `type Order
	id id
	directory "orders"
	field 1 ID id
	field 2 Status int32
	field 3 Total int64 was int32
	field 4 Name string
	field 5 Paid bool
	field 6 Rate float
	field 7 Weight double
	field 8 Note *string
	field 9 Home message(Address)
	field 10 Work *message(Address)
	field 11 Tags []string
	field 12 Numbers []int64
	field 13 At time
	field 14 Took duration
	field 15 Hash bytes[4]
	field 16 Level text(a.Level) was string
	field 17 Later *int64 was int64
	field 18 Counts map[string]int64
	field 19 Blob *bytes
	field 20 Big uint64
	field 21 Other []uint32
	field 22 Key bytes[16]
	field 23 Plan string default "free\x20plan"
	field 24 Grace duration default 90000000000
	field 25 Share float default 0.25
	field 26 Active bool default true
	field 27 Limit uint64 default 18446744073709551615
	field 28 Ratio double default 0.5
	field 29 Seats int64 default 3 was int8
message Address
	field 1 City string
	field 2 Zip *string was string
	field 3 Lines []string
`

func orderSchema(t testing.TB) *schema.Schema {
	t.Helper()
	s, err := schema.ParseType(order)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compile(t testing.TB, keyName, layout string) *reindex.Program {
	t.Helper()
	p, err := reindex.Compile(keyName, layout, orderSchema(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// keysOf returns the record's keys as text, with the amount behind that of a sum.
func keysOf(p *reindex.Program, payload []byte) ([]string, error) {
	ix := index.Index{Definition: p.Definition(), State: index.Readable}
	var set index.Set
	if err := p.Entries(payload, set.Open(&ix, nil)); err != nil {
		return nil, err
	}
	if err := set.Close(&ix); err != nil {
		return nil, err
	}
	keys := make([]string, 0)
	for n := range set.Keys(0) {
		key := tuple.Describe(set.Key(0, n))
		if ix.Kind == index.Sum {
			key += "+" + set.Amount(0, n).String()
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func joined(keys []string) string { return strings.Join(keys, " | ") }

// record appends fields one after the other.
type record []byte

func (r record) int(number int, v int64) record {
	return wire.AppendZigzag(tag(r, number, 0), v)
}

func (r record) uint(number int, v uint64) record { return wire.AppendVarint(tag(r, number, 0), v) }

func (r record) text(number int, v string) record { return wire.AppendString(tag(r, number, 2), v) }

func (r record) float(number int, v float32) record {
	return wire.AppendFloat32(tag(r, number, 5), v)
}

func (r record) double(number int, v float64) record {
	return wire.AppendFloat64(tag(r, number, 1), v)
}

func tag(b []byte, number, wireType int) []byte {
	return wire.AppendVarint(b, uint64(number<<3|wireType))
}
