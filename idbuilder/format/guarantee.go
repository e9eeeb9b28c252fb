// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"math"
)

// Guarantee says how unique the IDs of a Format are.
type Guarantee struct {
	// Certain: no two IDs are equal, as long as no number of a counter is used
	// twice.
	Certain bool
	// Century: they repeat after a hundred years, since the IDs show two digits of
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

// Guarantee returns how unique the IDs of the format are.
func (f *Format) Guarantee() Guarantee {
	g := Guarantee{}
	for _, p := range f.parts {
		g.Certain = g.Certain || p.kind == AutoIncrement
		g.Century = g.Century || p.kind == AutoIncrement && p.reset != ResetNever && !f.shows(p, fourDigits)
		if p.kind == FixedRandomChars {
			g.Bits += float64(p.count) * math.Log2(float64(len(p.chars)))
		}
	}
	return g
}

// checkUnique refuses a format whose IDs cannot be unique.
func (c *compiler) checkUnique(f *Format) {
	if g := f.Guarantee(); !g.Certain && g.Bits == 0 {
		c.fault(-1, "", "IDs could not be unique: there is neither an auto-increment part nor one of random characters")
	}
	for i, p := range f.parts {
		if p.kind == AutoIncrement && p.reset != ResetNever && !f.shows(p, twoDigits) {
			c.fault(i, "reset_scope", "IDs would repeat: numbers begin anew with each %s, but no part shows the %s in the time zone %s; add a date-format part such as %q", p.reset, p.reset, p.zone, dateFor[p.reset])
		}
	}
	c.checkBorders(f)
}

var dateFor = map[Reset]string{ResetYear: "yyyy", ResetMonth: "yyyyMM", ResetDate: "yyyyMMdd"}

// How many digits of the year a date needs to tell one period from another: two do
// for a hundred years.
const (
	twoDigits  = 2
	fourDigits = 4
)

// shows reports whether the IDs show in which period a number was given: by
// dates in the zone of the reset, or by a time since an epoch.
func (f *Format) shows(number part, digits int) bool {
	together := Date{shown: map[byte]int{}}
	for _, p := range f.parts {
		switch {
		case p.kind == Timestamp || p.kind == UnixSeconds:
			return true
		case p.kind == DateFormat && p.date.isClear() && p.zone.String() == number.zone.String():
			together.show(p.date)
		}
	}
	return together.shows(number.reset, digits)
}

// show adds what another date shows.
func (d *Date) show(other *Date) {
	for letter, count := range other.shown {
		d.shown[letter] = max(d.shown[letter], count)
	}
}

// shows reports whether the date tells one period from all others, with a year of
// so many digits.
func (d *Date) shows(r Reset, digits int) bool {
	year := d.showsYear('y', digits)
	month := d.shown['M'] > 0 || d.shown['D'] > 0
	day := d.shown['d'] > 0 && d.shown['M'] > 0 || d.shown['D'] > 0
	week := d.showsYear('Y', digits) && d.shown['w'] > 0 && (d.shown['e'] > 0 || d.shown['E'] > 0)
	switch r {
	case ResetYear:
		return year || week
	case ResetMonth:
		return year && month || week
	}
	return year && day || week
}

// showsYear reports whether the year is shown by so many digits: a run of two letters
// shows two, any other at least four.
func (d *Date) showsYear(letter byte, digits int) bool {
	switch d.shown[letter] {
	case 0:
		return false
	case 2:
		return digits == twoDigits
	}
	return true
}

// checkBorders refuses a format of which two IDs with different parts could read
// the same: where two parts of varying length follow each other without a text
// between them that tells where the first ends.
func (c *compiler) checkBorders(f *Format) {
	last := -1 // the latest part of varying length
	for i, p := range f.parts {
		if p.width() >= 0 {
			continue
		}
		if last >= 0 && !f.separated(last, i) {
			c.fault(i, "", "IDs could repeat: nothing tells where parts[%d] ends and this one begins, since both vary in length; put fixed-chars that neither can contain between them, or give one of them length_fixed", last)
		}
		last = i
	}
}

// separated reports whether a text between two parts of varying length holds a
// character that no part from the first to the second can show.
func (f *Format) separated(first, second int) bool {
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
