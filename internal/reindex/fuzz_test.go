// SPDX-License-Identifier: Apache-2.0

package reindex_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// FuzzCompile: any texts make a program that says again what it was made of, or are
// refused with a reason.
func FuzzCompile(f *testing.F) {
	f.Add("Order_Status", "Status:int", order)
	f.Add("Order_Note_unique", "Note:*string:cover", order)
	f.Add("Order_x", "Work.City,Tags:*string,[]string:desc=Tags:scatter=16:where=Status=1 and Name!=\"a\\x20b\" and Note=null", order)
	f.Add("Order_sum_Total", ":int:kind=sum:of=Total", order)
	f.Add("Order_x", "Name:string,[]uint,map[string]int:cover=Other,Counts", order)
	f.Add("A_B", "B:bytes", "type A\n\tfield 1 B bytes[9223372036854775807]\n")
	f.Fuzz(func(t *testing.T, keyName, layout, text string) {
		s, err := schema.ParseType(text)
		if err != nil {
			return
		}
		p, err := reindex.Compile(keyName, layout, s)
		var refused *reindex.Error
		if err != nil {
			if !errors.As(err, &refused) || refused.Reason == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		if d := p.Definition(); d.KeyName() != keyName || d.Layout() != layout || d.Validate() != nil {
			t.Fatalf("%q, %q became %+v: %v", keyName, layout, d, d.Validate())
		}
		if _, err := keysOf(p, nil); err != nil {
			t.Fatalf("an empty record: %v", err)
		}
	})
}

// FuzzEntries: any bytes have entries or are refused, and the same ones each time.
func FuzzEntries(f *testing.F) {
	layouts := []string{
		"Status,Total,Name,Paid:int,int,string,bool", "Rate,Weight,Note:float,double,*string:desc=Note", "Work.City,Tags:*string,[]string",
		"Numbers,At:[]int,time:where=Took>5 and Home.City=\"a\"", "Hash,Took,Later:bytes,duration,*int", "Blob,Big:*bytes,int:cover",
		"Name:string,[]uint,time:cover=Other,At", ":int:kind=sum:of=Big",
	}
	programs := make([]*reindex.Program, len(layouts))
	for i, layout := range layouts {
		programs[i] = compile(f, "Order_x", layout)
	}
	f.Add(uint8(0), []byte(record{}.int(2, 1).int(3, 2).text(4, "x").uint(5, 1)))
	f.Add(uint8(2), []byte(record{}.text(10, "\x0a\x01a").text(11, "t").text(10, "")))
	f.Add(uint8(3), []byte(record{}.text(12, "\x02\x04").text(9, "\x0a\x01a").text(14, "\x08\x01").text(13, "\x08\x01")))
	f.Add(uint8(6), []byte(record{}.text(21, "\x01\x02").text(13, "\x08\x01")))
	f.Fuzz(func(t *testing.T, i uint8, payload []byte) {
		p := programs[int(i)%len(programs)]
		keys, err := keysOf(p, payload)
		again, err2 := keysOf(p, payload)
		if (err == nil) != (err2 == nil) || joined(keys) != joined(again) {
			t.Fatalf("%v, %v, and then %v, %v", keys, err, again, err2)
		}
		if err == nil {
			if _, err := p.AppendCover(nil, payload); err != nil {
				t.Fatalf("it has entries, but no copy: %v", err)
			}
		}
	})
}
