// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"
	"strings"
	"unicode"
)

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

// canShow is generous for names: they may hold any letter; a zone may also hold
// digits and signs.
func (f dateField) canShow(char rune) bool {
	switch {
	case f.letter == 'a' || f.letter == 'E' || f.letter == 'M' && f.count > 2:
		return unicode.IsLetter(char)
	case f.letter == 'z' || f.letter == 'Z' || f.letter == 'X':
		return unicode.IsLetter(char) || isDigit(char, 10) || strings.ContainsRune("+-:", char)
	}
	return isDigit(char, 10)
}

// isClear reports whether the date can be read in one way: between two fields of varying width stands
// a character that neither can show. In "yyyyMd", 2026111 may be in January or November.
func (d *Date) isClear() bool {
	last := -1
	for i, f := range d.fields {
		if f.width() >= 0 {
			continue
		}
		if last >= 0 && !d.separated(last, i) {
			return false
		}
		last = i
	}
	return true
}

// separated reports whether a text between two fields has a character that none
// from the first to the second can show.
func (d *Date) separated(first, second int) bool {
	for _, f := range d.fields[first+1 : second] {
		for _, char := range f.literal {
			if !slices.ContainsFunc(d.fields[first:second+1], func(f dateField) bool { return f.letter != 0 && f.canShow(char) }) {
				return true
			}
		}
	}
	return false
}
