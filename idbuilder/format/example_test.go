// SPDX-License-Identifier: Apache-2.0

package format_test

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
)

// Invoices that count from 1 each day in Tokyo.
func ExampleCompile() {
	f, err := format.Compile([]format.Part{
		{Type: format.FixedChars, Value: "INV"},
		{Type: format.DateFormat, Format: "yyyyMMdd", TimeZone: "Asia/Tokyo"},
		{Type: format.FixedChars, Value: "-"},
		{Type: format.AutoIncrement, Length: 4, ResetScope: format.ResetDate},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC) // midnight in Tokyo
	fmt.Println(f.Counters()[0].Period(now.Add(-1)), f.Counters()[0].Period(now))
	id, err := f.Append(nil, now, []int64{1}, rand.Reader)
	fmt.Println(string(id), err)
	fmt.Println(f.Guarantee())
	// Output:
	// 2026-11-22 2026-11-23
	// INV20261123-0001 <nil>
	// every ID is unique
}

// IDs that could repeat are refused.
func ExampleCompile_refused() {
	_, err := format.Compile([]format.Part{
		{Type: format.DateFormat, Format: "yyyyMM"},
		{Type: format.AutoIncrement, ResetScope: format.ResetDate},
	})
	fmt.Println(err)
	// Output:
	// parts[1].reset_scope: IDs would repeat: numbers begin anew with each date, but no part shows the date in the time zone UTC; add a date-format part such as "yyyyMMdd"
}

// A pattern of the other dialect.
func ExampleParsePattern() {
	parts, _ := format.ParsePattern("ORD-{YYYY}{MM}-{SEQ:6}", "monthly")
	f, err := format.Compile(parts)
	fmt.Println(f.Sample(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)), err)
	// Output:
	// ORD-202611-000001 <nil>
}
