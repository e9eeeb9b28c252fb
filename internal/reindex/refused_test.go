// SPDX-License-Identifier: Apache-2.0

package reindex_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/reindex"
	"github.com/kazahana-db/kazahana/internal/schema"
)

// TestRefused: what cannot be computed for certain is an error that says why.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ keyName, layout, want string }{
		{"Order_x", "", "signature"},
		{"Order_x", "Status", "signature"},
		{"Order_x", "Status:int:kind=median", "median"},
		{"Order_x", "Status:int:new=1", "new=1"},
		{"Order_x", "Status:int:scatter=3", "3 shards"},
		{"Order_x", "Status,Name:int", "2 fields"},
		{"Order_x", "Name:string:fold15.0.0=Name", "persistable/persistabletext"},
		{"Order_x", "Name:string:kind=search", "persistable/persistabletext"},
		{"Order_x", "Status:string", "Status is int32"},
		{"Order_x", "Nonsense:string", "no field Nonsense"},
		{"Order_x", "Home.Nonsense:string", "no field Nonsense in Address"},
		{"Order_x", "Name.City:string", "holds no field City"},
		{"Order_x", "Home:message(Address)", "Go code"},
		{"Order_x", "Level:text(a.Level)", "Go code"},
		{"Order_x", "Counts:map[string]int64", "Go code"},
		{"Order_x", "Note:string", "not in the index"},
		{"Order_x", "Name:*string", "not in the store"},
		{"Order_x", "Work.City:string", "not in the index"},
		{"Order_x", "Work.Zip:*string", "at which"},
		{"Order_x", "Work.Lines:[]string", "not in the index"},
		{"Order_x", "Tags,Numbers:[]string,[]int", "two slices"},
		{"Order_x", "Tags:string", "Tags is []string"},
		{"Order_x", ":double:kind=sum:of=Weight", "sum of double"},
		{"Order_x", ":[]int:kind=sum:of=Numbers", "sum of []int"},
		{"Order_x", "Name:string:where=Status", "operator"},
		{"Order_x", "Name:string:where=Status=1 or Paid=true", "another comparison"},
		{"Order_x", "Name:string:where=Status=1 and ", "another comparison"},
		{"Order_x", "Name:string:where=Status=", "nothing"},
		{"Order_x", "Name:string:where=Status==1", `invalid syntax`},
		{"Order_x", "Name:string:where=Status~1", "operator"},
		{"Order_x", "Name:string:where=Status=one", "invalid syntax"},
		{"Order_x", "Name:string:where=Status=null", "null"},
		{"Order_x", "Name:string:where=Note>null", "null"},
		{"Order_x", "Name:string:where=Name=a", "invalid syntax"},
		{"Order_x", "Name:string:where=Paid=1", "not a bool"},
		{"Order_x", "Name:string:where=At=1", "not a number"},
		{"Order_x", "Name:string:where=Tags=\"x\"", "Go code"},
		{"Order_x", "Name:string:where=Work.Zip!=null", "at which"},
		{"Order_x", "Name:string:where=Nonsense=0", "no field Nonsense"},
		{"Order_x", "Name:string,text(a.Level):cover=Level", "copy"},
		{"Order_x", "Name:string,int:cover=Nonsense", "no field Nonsense"},
		{"Order_x", "Name:string,int:cover=Paid", "Paid is bool"},
	} {
		p, err := reindex.Compile(c.keyName, c.layout, orderSchema(t))
		var refused *reindex.Error
		if !errors.As(err, &refused) || p != nil || refused.Layout != c.layout || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.keyName, c.layout, err, c.want)
		}
	}
}

// TestDamagedPayloads: a field that is not stored as the schema says, and bytes that are
// no message, are errors, and the record has no entry.
func TestDamagedPayloads(t *testing.T) {
	for layout, payload := range map[string]record{
		"Status:int":             record{}.text(2, "1"),
		"Total:int":              record{}.double(3, 1),
		"Name:string":            record{}.int(4, 1),
		"Hash:bytes":             record{}.text(15, "five5"),
		"At:time":                record{}.text(13, "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		"Home.City:string":       record{}.text(9, "\x0a\x05x"),
		"Work.City:*string":      record{}.int(10, 1),
		"Numbers:[]int":          record{}.text(12, "\x80"),
		"Later:*int":             {0x88, 0x01, 0xff},
		"Tags:[]string":          record{}.int(11, 1),
		"Status,Name:int,string": record{}.int(2, 1<<40),
	} {
		p := compile(t, "Order_x", layout)
		if keys, err := keysOf(p, payload); err == nil {
			t.Errorf("%s of %x: %v", layout, []byte(payload), keys)
		}
	}
}

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
