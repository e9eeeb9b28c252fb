// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// datePattern is a compiled date pattern: see the documentation of the package.
type datePattern struct {
	fields []dateField
	shown  map[byte]int // letter to the number of its longest run
	fixed  int          // length, -1 if that varies
}

// dateField is a run of one letter, or a literal text.
type dateField struct {
	letter  byte // 0: text
	count   int
	literal string
}

// maxCount bounds runs of the letters; those that are missing are refused.
var maxCount = map[byte]int{
	'y': 9, 'Y': 9, 'M': 4, 'd': 2, 'D': 3, 'H': 2, 'k': 2, 'K': 2, 'h': 2, 'a': 1, 'm': 2, 's': 2, 'S': 9,
	'E': 4, 'e': 1, 'w': 2, 'X': 3, 'Z': 1, 'z': 1,
}

// parseDate compiles a pattern. The error names the place and what may stand there.
func parseDate(pattern string) (*datePattern, error) {
	d := &datePattern{shown: map[byte]int{}}
	for rest := pattern; rest != ""; {
		field, size, err := nextField(rest)
		if err != nil {
			return nil, fmt.Errorf("at character %d of %q: %w", len(pattern)-len(rest)+1, pattern, err)
		}
		d.addField(field)
		rest = rest[size:]
	}
	if len(d.shown) == 0 {
		return nil, fmt.Errorf("%q shows no part of the time", pattern)
	}
	return d, nil
}

func (d *datePattern) addField(f dateField) {
	d.fields = append(d.fields, f)
	if f.letter != 0 {
		d.shown[f.letter] = max(d.shown[f.letter], f.count)
	}
	if width := f.width(); width < 0 || d.fixed < 0 {
		d.fixed = -1
	} else {
		d.fixed += width
	}
}

// nextField returns the field with which a pattern begins, and its size there.
func nextField(s string) (dateField, int, error) {
	c := s[0]
	switch {
	case c == '\'':
		return quoted(s)
	case !isLetter(c):
		n := strings.IndexFunc(s, func(r rune) bool { return r == '\'' || r < 128 && isLetter(byte(r)) })
		if n < 0 {
			n = len(s)
		}
		return dateField{literal: s[:n]}, n, nil
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	switch most := maxCount[c]; {
	case most == 0:
		return dateField{}, 0, fmt.Errorf("the letter %q has no meaning; put text between single quotes", c)
	case n > most:
		return dateField{}, 0, fmt.Errorf("%d times %q, at most %d are allowed", n, c, most)
	}
	return dateField{letter: c, count: n}, n, nil
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// quoted returns the text between single quotes with which s begins; two quotes
// are one, inside and outside.
func quoted(s string) (dateField, int, error) {
	if strings.HasPrefix(s, "''") {
		return dateField{literal: "'"}, 2, nil
	}
	var text strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
			text.WriteByte(s[i])
		case strings.HasPrefix(s[i:], "''"):
			text.WriteByte('\'')
			i++
		default:
			return dateField{literal: text.String()}, i + 1, nil
		}
	}
	return dateField{}, 0, fmt.Errorf("a quote is not closed")
}

// width returns the number of characters that a field always has, or -1.
func (f dateField) width() int {
	switch {
	case f.letter == 0:
		return utf8.RuneCountInString(f.literal)
	case f.count >= 3 && (f.letter == 'M' || f.letter == 'E'):
		if f.count == 3 {
			return 3
		}
		return -1
	case f.letter == 'E':
		return 3
	case f.letter == 'a':
		return 2
	case f.letter == 'z' || f.letter == 'X':
		return -1
	case f.letter == 'Z':
		return 5
	case f.letter == 'y' || f.letter == 'Y':
		if f.count == 2 {
			return 2
		}
		return max(f.count, 4) // of years until 9999
	case f.letter == 'S' || f.letter == 'e' || f.count == 2 && f.letter != 'D' || f.count == 3:
		return f.count
	}
	return -1
}

// Append appends t, in its own location, to dst.
func (d *datePattern) Append(dst []byte, t time.Time) []byte {
	for _, f := range d.fields {
		dst = f.appendTo(dst, t)
	}
	return dst
}

func (f dateField) appendTo(dst []byte, t time.Time) []byte {
	switch f.letter {
	case 0:
		return append(dst, f.literal...)
	case 'a':
		return t.AppendFormat(dst, "PM")
	case 'z':
		return t.AppendFormat(dst, "MST")
	case 'Z':
		return t.AppendFormat(dst, "-0700")
	case 'X':
		return t.AppendFormat(dst, [...]string{"Z07", "Z0700", "Z07:00"}[f.count-1])
	case 'S':
		return appendNumber(dst, t.Nanosecond()/pow10(9-f.count), f.count)
	case 'E':
		return t.AppendFormat(dst, [...]string{"Mon", "Mon", "Mon", "Monday"}[f.count-1])
	case 'M':
		if f.count > 2 {
			return t.AppendFormat(dst, [...]string{"Jan", "January"}[f.count-3])
		}
	}
	return appendNumber(dst, f.number(t), f.count)
}

// number returns the value of a field that is written as a number.
func (f dateField) number(t time.Time) int {
	isoYear, isoWeek := t.ISOWeek()
	switch f.letter {
	case 'y':
		return lastDigits(t.Year(), f.count)
	case 'Y':
		return lastDigits(isoYear, f.count)
	case 'M':
		return int(t.Month())
	case 'd':
		return t.Day()
	case 'D':
		return t.YearDay()
	case 'H':
		return t.Hour()
	case 'k':
		return (t.Hour()+23)%24 + 1
	case 'K':
		return t.Hour() % 12
	case 'h':
		return (t.Hour()+11)%12 + 1
	case 'm':
		return t.Minute()
	case 's':
		return t.Second()
	case 'w':
		return isoWeek
	}
	return (int(t.Weekday())+6)%7 + 1 // e
}

// lastDigits returns the year, of yy and YY its last two digits.
func lastDigits(year, count int) int {
	if count == 2 {
		return year % 100
	}
	return year
}

func appendNumber(dst []byte, n, width int) []byte { return fmt.Appendf(dst, "%0*d", width, n) }

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}

// canShow reports whether the field may hold the character: names any letter, a zone also
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

func (d *datePattern) canShow(char rune) bool {
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
func (d *datePattern) isClear() bool {
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
func (d *datePattern) hasSeparator(first, second int) bool {
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
func (d *datePattern) addShown(other *datePattern) {
	for letter, count := range other.shown {
		d.shown[letter] = max(d.shown[letter], count)
	}
}

// showsPeriod reports whether the date tells one period from all others, with a year of
// so many digits.
func (d *datePattern) showsPeriod(r Reset, digits int) bool {
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
func (d *datePattern) showsYear(letter byte, digits int) bool {
	switch d.shown[letter] {
	case 0:
		return false
	case 2:
		return digits == twoDigits
	}
	return true
}

// Reset says when an auto-increment part begins at 1 again.
type Reset string

// Resets.
const (
	ResetNever Reset = "none"
	ResetYear  Reset = "year"
	ResetMonth Reset = "month"
	ResetDate  Reset = "date"
)

// layouts are the layouts of package time for the names of periods.
var layouts = map[Reset]string{ResetNever: "", ResetYear: "2006", ResetMonth: "2006-01", ResetDate: "2006-01-02"}

// ResetOf returns the Reset that makes periods with names of the form of one: that of
// Reset.Period; [ResetNever] for other texts.
func ResetOf(period string) Reset {
	for r, layout := range layouts {
		if _, err := time.Parse(layout, period); err == nil {
			return r
		}
	}
	return ResetNever
}

// Before returns the name of the period before one; "" if that is not the name of a period, and
// for ResetNever.
func (r Reset) Before(period string) string {
	t, err := time.Parse(layouts[r], period)
	if err != nil {
		return ""
	}
	return r.Period(t.AddDate(0, 0, -1)) // a period begins with its first day
}

// Period returns the name of the period of t: "2026", "2026-11" or
// "2026-11-22"; "" for ResetNever. Each period has a counter of its own: if the clock
// is set back to an earlier period, that period's counter goes on.
func (r Reset) Period(t time.Time) string { return t.Format(layouts[r]) }
