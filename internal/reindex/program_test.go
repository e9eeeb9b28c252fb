// SPDX-License-Identifier: Apache-2.0

package reindex_test

import (
	"math"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/schema"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestEntries: the entries of some records, as the code of persistgen would make them.
// The comparison with that code itself is in other packages.
func TestEntries(t *testing.T) {
	for _, c := range []struct {
		keyName, layout string
		r               record
		want            string
	}{
		{"Order_Status", "Status:int", nil, "(0)"},
		{"Order_Status", "Status:int", record{}.int(2, 1).int(2, -7), "(-7)"}, // the last one counts
		{"Order_Note", "Note:*string", nil, "(nil)"},
		{"Order_Note_unique", "Note:*string", nil, ""},
		{"Order_Note_unique", "Note:*string", record{}.text(8, ""), `("")`},
		{"Order_my__unique", "Note:*string", nil, "(nil)"}, // its name is my_unique
		{"Order_my___unique", "Note:*string", nil, ""},     // its name is my_, and it is unique
		{"Order_Tags", "Tags:[]string", nil, ""},
		{"Order_Tags_Status", "Tags,Status:[]string,int", record{}.text(11, "b").text(11, "a").text(11, "b"), `("a", 0) | ("b", 0)`},
		{"Order_Numbers", "Numbers:[]int", record{}.text(12, "\x02\x04").int(12, 3), "(1) | (2) | (3)"}, // packed or not
		{"Order_Home.City", "Home.City:string", nil, `("")`},
		{"Order_Home.City", "Home.City:string", record{}.text(9, "\x0a\x01a").text(9, ""), `("a")`}, // occurrences merge
		{"Order_Work.City", "Work.City:*string", nil, "(nil)"},
		{"Order_Work.City", "Work.City:*string", record{}.text(10, ""), `("")`},
		{"Order_Home.Zip", "Home.Zip:*string", nil, "(nil)"},
		{"Order_Home.Zip", "Home.Zip:string", nil, `("")`}, // of programs from before it could be null
		{"Order_Later", "Later:int", nil, "(0)"},
		{"Order_Later", "Later:*int", nil, "(nil)"},
		{"Order_Level", "Level:string", record{}.text(16, "high"), `("high")`}, // of programs from before it was a text
		{"Order_Key", "Key:uuid", nil, "(00000000-0000-0000-0000-000000000000)"},
		{"Order_count_Status", "Status:int:kind=count", record{}.int(2, 3), "(3)"},
		{"Order_count", "::kind=count", nil, "()"},
		{"Order_sum_Total_Status", "Status:int,int:kind=sum:of=Total", record{}.int(3, -5), "(0)+-5"},
		{"Order_sum_Big", ":int:kind=sum:of=Big", record{}.uint(20, 1<<64-1), "()+18446744073709551615"},
		{"Order_sum_Later", ":*int:kind=sum:of=Later", nil, ""},
		{"Order_sum_Took", ":duration:kind=sum:of=Took", record{}.text(14, "\x08\x01"), "()+1000000000"},
		{"Order_Plan_Seats", "Plan,Seats:string,int", nil, `("free plan", 3)`}, // the fields' defaults
		{"Order_Plan_Seats", "Plan,Seats:string,int", record{}.text(23, "").int(29, 0), `("", 0)`},
		{"Order_Active_Grace", "Active,Grace:bool,duration", nil, "(true, 90000000000)"},
		{"Order_Share_Ratio", "Share,Ratio:float,double", nil, "(0.25f, 0.5)"},
		{"Order_sum_Limit", ":int:kind=sum:of=Limit", nil, "()+18446744073709551615"},
		{"Order_Seats", "Seats:int:where=Plan=\"free plan\" and Active=true", nil, "(3)"},
		{"Order_rank_Status_Total", "Status,Total:int,int:kind=rank", record{}.int(3, 9), "(0, 9)"},
	} {
		keys, err := keysOf(compile(t, c.keyName, c.layout), c.r)
		if err != nil || joined(keys) != c.want {
			t.Errorf("%s %s of %x: %s, %v; want %s", c.keyName, c.layout, []byte(c.r), joined(keys), err, c.want)
		}
	}
}

// TestDescending: a descending element is that of the generated code.
func TestDescending(t *testing.T) {
	p := compile(t, "Order_Status_Name", "Status,Name:int,string:desc=Name")
	ix := index.Index{Definition: p.Definition(), State: index.Readable}
	var got, want index.Set
	if err := p.Entries(record{}.int(2, 5).text(4, "a\xff\x00"), got.Open(&ix, []byte{0x14})); err != nil {
		t.Fatal(err)
	}
	e := want.Open(&ix, []byte{0x14})
	k := tuple.AppendInt(e.Begin(), 5)
	n := len(k)
	e.End(index.Descend(tuple.AppendString(k, "a\xff\x00"), n))
	if string(got.Key(0, 0)) != string(want.Key(0, 0)) {
		t.Errorf("the key is %x, want %x", got.Key(0, 0), want.Key(0, 0))
	}
}

// TestCovers: entries copy chosen fields in the order of their numbers, each in one
// form, however the record has them.
func TestCovers(t *testing.T) {
	list := func(elements ...uint64) (b []byte) {
		for _, v := range elements {
			b = wire.AppendVarint(b, v)
		}
		return b
	}
	for _, c := range []struct {
		layout  string
		r, want record
	}{
		{"Name:string,int,bool:cover=Total,Paid", record{}.uint(5, 1).text(4, "x").int(3, 7).int(3, 8), record{}.int(3, 8).uint(5, 1)},
		{"Name:string,int,string:cover=Later,Level", record{}.int(17, 0).text(16, ""), nil}, // zeros that a pointer stored
		{"Name:string,*int:cover=Later", record{}.int(17, 0), record{}.int(17, 0)},
		{"Name:string,*bytes:cover=Blob", record{}.text(19, ""), record{}.text(19, "")},
		{"Name:string,[]uint:cover=Other", record{}.uint(21, 1).text(21, string(list(2, 300))), record{}.text(21, string(list(1, 2, 300)))},
		{"Name:string,[]uint:cover=Other", record{}.text(21, ""), nil},
		{"Name:string,map[string]int:cover=Counts", record{}.text(18, "a").text(18, "b"), record{}.text(18, "a").text(18, "b")},
		{"Name:string,time,duration,bytes[4]:cover=At,Took,Hash", record{}.text(13, "\x08\x01").text(14, "").text(15, "\x00\x00\x00\x00"), record{}.text(13, "\x08\x01")},
		{"Name:string,int,bool:cover=Seats,Active", nil, record{}.uint(26, 1).int(29, 3)}, // the fields' defaults
		{"Name:string,int,bool:cover=Seats,Active", record{}.int(29, 0).uint(26, 0), record{}.uint(26, 0).int(29, 0)},
		{"Name:string,float,double:cover=Rate,Weight", record{}.float(6, 0).double(7, 2), record{}.double(7, 2)},
	} {
		got, err := compile(t, "Order_x", c.layout).AppendCover(nil, c.r)
		if err != nil || string(got) != string(c.want) {
			t.Errorf("%s of %x: %x, %v; want %x", c.layout, []byte(c.r), got, err, []byte(c.want))
		}
	}
	if got, err := compile(t, "Order_x", "Name:string,int:cover=Total").AppendCover(nil, []byte{0x18}); err == nil {
		t.Errorf("a copy of a damaged record: %x", got)
	}
}

// TestConditions: which records fulfil a condition is what Go says of the same
// comparison; null fulfils no comparison with a value. Whether a field that became nullable
// may be null for the programs of the index is what its condition says.
func TestConditions(t *testing.T) {
	address := string(record{}.text(1, "Köln"))
	for _, c := range []struct {
		where string
		r     record
		want  bool
	}{
		{"Status=1", record{}.int(2, 1), true},
		{"Status=1", nil, false},
		{"Status=0", nil, true},
		{"Status!=1", nil, true},
		{"Status<-1", record{}.int(2, -2), true},
		{"Status<=-1", record{}.int(2, -1), true},
		{"Status>=256", record{}.int(2, 255), false},
		{"Total>4294967296", record{}.int(3, math.MaxInt64), true},
		{"Big>9223372036854775807", record{}.uint(20, 1<<63), true},
		{"Big>9223372036854775808", record{}.uint(20, 1<<63), false},
		{`Name="a"`, record{}.text(4, "a"), true},
		{`Name>"a"`, record{}.text(4, "a\x00b"), true},
		{`Name<"ab"`, record{}.text(4, "a\x00b"), true},
		{`Name="x and\x20Status=1"`, record{}.text(4, "x and Status=1"), true},
		{`Name="\""`, record{}.text(4, `"`), true},
		{"Paid=true", record{}.uint(5, 1), true},
		{"Paid=false", nil, true},
		{"Rate=0.1", record{}.float(6, 0.1), true},
		{"Rate>0", record{}.float(6, float32(math.NaN())), false},
		{"Rate!=0", record{}.float(6, float32(math.NaN())), true},
		{"Weight=0", record{}.double(7, math.Copysign(0, -1)), true},
		{"Weight<1e-300", record{}.double(7, math.Inf(-1)), true},
		{"Weight<=0", record{}.double(7, math.Float64frombits(0xfff8000000000001)), false},
		{"Note=null", nil, true},
		{"Note=null", record{}.text(8, ""), false},
		{"Note!=null", record{}.text(8, ""), true},
		{`Note!="x"`, nil, false},
		{`Note!="x"`, record{}.text(8, ""), true},
		{`Home.City="Köln"`, record{}.text(9, address), true},
		{`Home.City=""`, nil, true},
		{`Work.City=""`, nil, false},
		{`Work.City=""`, record{}.text(10, ""), true},
		{"Work.City=null", nil, true},
		{`Work.City!=null`, record{}.text(10, ""), true},
		{"Later=0", nil, true}, // of programs in which it cannot be null
		{"Later=0", record{}.int(17, 0), true},
		{"Later!=null and Later=0", nil, false}, // of those in which it can
		{"Later!=null and Later=0", record{}.int(17, 0), true},
		{"Later=0 and Later!=null", nil, false},
		{"Took>1000000000", record{}.text(14, "\x08\x01\x10\x01"), true},
		{"Status=1 and Total>0", record{}.int(2, 1).int(3, 1), true},
		{"Status=1 and Total>0", record{}.int(2, 1), false},
		{"Status=1 and Status=1 and Total>0", record{}.int(3, 1), false},
	} {
		p := compile(t, "Order_x", "Name:string:where="+c.where)
		keys, err := keysOf(p, c.r)
		if err != nil || len(keys) == 1 != c.want {
			t.Errorf("%s of %x: %v, %v; want %v", c.where, []byte(c.r), keys, err, c.want)
		}
	}
}

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

// keysOf returns the record's keys as text, with the amount after that of a sum.
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
