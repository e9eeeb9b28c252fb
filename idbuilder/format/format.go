// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Format makes IDs of parts. It is immutable and safe for concurrent use.
type Format struct {
	parts []part
}

// part is a compiled Part. Exactly one of the fields in the second group is set.
type part struct {
	kind Type
	zone *time.Location // of dates and of resets
	base int64          // of timestamps

	text   string
	chars  []rune
	count  int // of random characters
	date   *datePattern
	number *number
	reset  Reset
}

// Counter is a sequence of numbers that a Format consumes: one for each ID. The
// numbers of each period begin at 1. No number may be given to a Format twice.
type Counter struct {
	Part  int // index of the part, from 0
	Reset Reset
	Zone  *time.Location
	Max   int64 // the last number that the part can show
}

// Period returns the name of the period of a time, see [Reset.Period].
func (c Counter) Period(now time.Time) string { return c.Reset.Period(now.In(c.Zone)) }

// Counters returns the counters of the format, in the order of their parts: those
// of its auto-increment parts, and of its polling characters.
func (f *Format) Counters() []Counter {
	var counters []Counter
	for i, p := range f.parts {
		switch p.kind {
		case AutoIncrement:
			counters = append(counters, Counter{Part: i, Reset: p.reset, Zone: p.zone, Max: p.number.max})
		case FixedPollingChar:
			counters = append(counters, Counter{Part: i, Reset: ResetNever, Zone: time.UTC, Max: 1<<63 - 1})
		}
	}
	return counters
}

// Append appends the ID of a time to dst. Numbers has the number of each counter, in
// the order of Counters, from the period of now. Random characters are drawn from
// random: crypto/rand.Reader. The error is [ErrExhausted], [ErrBeforeBase], or
// that of random.
func (f *Format) Append(dst []byte, now time.Time, numbers []int64, random io.Reader) ([]byte, error) {
	var err error
	for _, p := range f.parts {
		var n int64
		if p.kind == AutoIncrement || p.kind == FixedPollingChar {
			n, numbers = numbers[0], numbers[1:]
		}
		if dst, err = p.appendTo(dst, now, n, random); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func (p part) appendTo(dst []byte, now time.Time, n int64, random io.Reader) ([]byte, error) {
	switch p.kind {
	case FixedChars:
		return append(dst, p.text...), nil
	case FixedPollingChar:
		place := (n - 1) % int64(len(p.chars))
		return append(dst, string(p.chars[place])...), nil
	case FixedRandomChars:
		return appendRandom(dst, p.chars, p.count, random)
	case DateFormat:
		return p.date.Append(dst, now.In(p.zone)), nil
	case Timestamp:
		return appendSince(dst, now.UnixMilli(), p.base)
	case UnixSeconds:
		return appendSince(dst, now.Unix(), p.base)
	}
	return p.number.appendTo(dst, n)
}

// appendSince appends the time since a base.
func appendSince(dst []byte, now, base int64) ([]byte, error) {
	if now < base {
		return dst, fmt.Errorf("%w by %d", ErrBeforeBase, base-now)
	}
	return strconv.AppendInt(dst, now-base, 10), nil
}

// appendRandom appends characters, each with the same probability: bytes beyond
// the last multiple of their number are drawn again.
func appendRandom(dst []byte, chars []rune, count int, random io.Reader) ([]byte, error) {
	limit := 1 << 16 / len(chars) * len(chars)
	var b [2]byte
	for count > 0 {
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return dst, err
		}
		if v := int(b[0])<<8 | int(b[1]); v < limit {
			dst = append(dst, string(chars[v%len(chars)])...)
			count--
		}
	}
	return dst, nil
}

// width returns the number of characters that the part always has, or -1.
func (p part) width() int {
	switch p.kind {
	case FixedChars:
		return utf8.RuneCountInString(p.text)
	case FixedPollingChar:
		return 1
	case FixedRandomChars:
		return p.count
	case DateFormat:
		return p.date.fixed
	case AutoIncrement:
		if p.number.fixed {
			return p.number.length
		}
	}
	return -1
}

// canShow reports whether the part may hold the character, for some time and
// number.
func (p part) canShow(char rune) bool {
	switch p.kind {
	case FixedChars:
		return strings.ContainsRune(p.text, char)
	case FixedPollingChar, FixedRandomChars:
		return slices.Contains(p.chars, char)
	case DateFormat:
		return p.date.canShow(char)
	case AutoIncrement:
		return isDigit(char, p.number.base) || p.number.length > 0 && p.number.padding == string(char)
	}
	return isDigit(char, 10)
}

// Guarantee returns how unique the IDs of the format are.
func (f *Format) Guarantee() Guarantee {
	g := Guarantee{}
	for _, p := range f.parts {
		g.Certain = g.Certain || p.kind == AutoIncrement
		g.Century = g.Century || p.kind == AutoIncrement && p.reset != ResetNever && !f.showsPeriod(p, fourDigits)
		if p.kind == FixedRandomChars {
			g.Bits += float64(p.count) * math.Log2(float64(len(p.chars)))
		}
	}
	return g
}

// showsPeriod reports whether the IDs show in which period a number was given: by
// dates in the zone of the reset, or by a time since an epoch.
func (f *Format) showsPeriod(number part, digits int) bool {
	together := datePattern{shown: map[byte]int{}}
	for _, p := range f.parts {
		switch {
		case p.kind == Timestamp || p.kind == UnixSeconds:
			return true
		case p.kind == DateFormat && p.date.isClear() && p.zone.String() == number.zone.String():
			together.addShown(p.date)
		}
	}
	return together.showsPeriod(number.reset, digits)
}

// hasSeparator reports whether a text between two parts of varying length holds a
// character that no part from the first to the second can show.
func (f *Format) hasSeparator(first, second int) bool {
	for _, p := range f.parts[first+1 : second] {
		if p.kind != FixedChars {
			continue
		}
		for _, char := range p.text {
			if !f.canShow(char, first, second) {
				return true
			}
		}
	}
	return false
}

// canShow reports whether a part other than a text may hold the character.
func (f *Format) canShow(char rune, first, second int) bool {
	for _, p := range f.parts[first : second+1] {
		if p.kind != FixedChars && p.canShow(char) {
			return true
		}
	}
	return false
}

// Sample returns an example of the format's IDs at a time, with the number 1 of each
// counter and always the same random characters; "" if the clock is before the base of a
// timestamp. It consumes nothing.
func (f *Format) Sample(now time.Time) string {
	numbers := make([]int64, len(f.Counters()))
	for i := range numbers {
		numbers[i] = 1
	}
	id, err := f.Append(nil, now, numbers, rand.NewChaCha8([32]byte{}))
	if err != nil {
		return ""
	}
	return string(id)
}

// Guarantee says how unique the IDs of a Format are.
type Guarantee struct {
	// Certain says that no two IDs are equal, as long as no number of a counter is used
	// twice.
	Certain bool
	// Century says that IDs repeat after a hundred years, since they show two digits of
	// the year in which a counter begins anew.
	Century bool
	// Bits is the number of random bits in each ID. If the guarantee is not
	// certain, uniqueness rests on them.
	Bits float64
}

// CollisionOdds returns the probability that among n IDs two are equal: that of
// the birthday problem, for IDs that differ in their random characters alone. It
// is 0 if the guarantee is certain.
func (g Guarantee) CollisionOdds(n float64) float64 {
	if g.Certain || n < 2 {
		return 0
	}
	return -math.Expm1(-n * (n - 1) / 2 / math.Exp2(g.Bits))
}

// String returns the guarantee in a sentence.
func (g Guarantee) String() string {
	switch {
	case g.Certain && g.Century:
		return "every ID is unique for a hundred years, until the two digits of the year repeat"
	case g.Certain:
		return "every ID is unique"
	}
	many := math.Sqrt(2 * math.Ln2 * math.Exp2(g.Bits)) // one half
	return fmt.Sprintf("IDs are unique by odds alone: of %.2g IDs two are equal with a probability of one half; add an auto-increment part to be certain", many)
}

var dateFor = map[Reset]string{ResetYear: "yyyy", ResetMonth: "yyyyMM", ResetDate: "yyyyMMdd"}

// Digits of the year that a date needs to tell one period from another: two are enough
// for a hundred years.
const (
	twoDigits  = 2
	fourDigits = 4
)
