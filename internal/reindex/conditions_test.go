// SPDX-License-Identifier: Apache-2.0

package reindex_test

import (
	"math"
	"testing"
)

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
