// SPDX-License-Identifier: Apache-2.0

package format

import "math"

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
	together := Date{shown: map[byte]int{}}
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
