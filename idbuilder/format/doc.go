// SPDX-License-Identifier: Apache-2.0

// Package format makes IDs of parts: texts, dates, numbers, random characters,
// such as INV20261122-0001.
//
//	f, err := format.Compile([]format.Part{
//		{Type: format.FixedChars, Value: "INV"},
//		{Type: format.DateFormat, Format: "yyyyMMdd", TimeZone: "Asia/Tokyo"},
//		{Type: format.FixedChars, Value: "-"},
//		{Type: format.AutoIncrement, Length: 4, ResetScope: format.ResetDate},
//	})
//	fmt.Println(f.Guarantee()) // every ID is unique
//	counter := f.Counters()[0]
//	number := next(counter.Period(now)) // the caller's: 1, 2, … for each period
//	id, err := f.Append(nil, now, []int64{number}, rand.Reader)
//
// # Uniqueness
//
// A [Format] consumes numbers, one of each [Counter] for an ID. The caller must not use a number
// twice. [Compile] refuses parts that could repeat IDs all the same:
// without a number and without random characters; with a number that begins anew in each period while
// no part shows the period; with a padding that is a digit; with two parts of varying length and nothing
// that shows where the first ends. IDs that differ in random characters alone may repeat;
// [Format.Guarantee] says with which probability.
//
// A Format holds no state and has no clock. It is immutable and safe for concurrent
// use.
package format
