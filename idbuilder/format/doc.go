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
// # Dates
//
// The pattern of a date has the letters of Java's DateTimeFormatter:
//
//	y year    M month, MMM Jan, MMMM January    d day    D day of the year
//	H hour 0-23   k 1-24   K 0-11   h 1-12   a AM or PM   m minute   s second   S fraction of a second
//	E Mon, EEEE Monday   e weekday 1-7 from Monday   Y year of the ISO week   w ISO week   X Z z time zone
//
// The number of letters is the least number of digits; yy and YY are the last two
// digits of the year. Text stands between single quotes, which is written as two. Other
// characters stand for themselves; other letters are refused.
//
// # State
//
// A Format holds no state and has no clock. It is immutable and safe for concurrent
// use.
package format
