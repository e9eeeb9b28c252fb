// SPDX-License-Identifier: Apache-2.0

package reindex_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/wire"
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
	k := index.AppendInt(e.Begin(), 5)
	n := len(k)
	e.End(index.Descend(index.AppendString(k, "a\xff\x00"), n))
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
