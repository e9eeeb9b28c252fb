// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"
	"strings"
)

func (d *Date) canShow(char rune) bool {
	for _, f := range d.fields {
		if f.letter == 0 && strings.ContainsRune(f.literal, char) {
			return true
		}
		if f.letter != 0 && f.canShow(char) {
			return true
		}
	}
	return false
}

// isClear reports whether the date can be read in one way only: two fields of varying width have a character
// between them that neither can show. In "yyyyMd", 2026111 may be in January or November.
func (d *Date) isClear() bool {
	last := -1
	for i, f := range d.fields {
		if f.width() >= 0 {
			continue
		}
		if last >= 0 && !d.hasSeparator(last, i) {
			return false
		}
		last = i
	}
	return true
}

// hasSeparator reports whether a text between two fields has a character that none
// from the first to the second can show.
func (d *Date) hasSeparator(first, second int) bool {
	for _, f := range d.fields[first+1 : second] {
		for _, char := range f.literal {
			if !slices.ContainsFunc(d.fields[first:second+1], func(f dateField) bool { return f.letter != 0 && f.canShow(char) }) {
				return true
			}
		}
	}
	return false
}

// addShown adds what another date shows.
func (d *Date) addShown(other *Date) {
	for letter, count := range other.shown {
		d.shown[letter] = max(d.shown[letter], count)
	}
}

// showsPeriod reports whether the date tells one period from all others, with a year of
// so many digits.
func (d *Date) showsPeriod(r Reset, digits int) bool {
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
