// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // IANA time zones, whatever the machine has
	"unicode/utf8"
)

// Bounds of a format.
const (
	maxParts  = 32
	maxText   = 256 // bytes of a text, characters of a set
	maxLength = 64  // characters of a number, random characters
)

// Compile checks parts and returns their Format. The error joins an error for
// each fault. Parts that cannot make unique IDs are a fault: see [Format.Guarantee].
func Compile(parts []Part) (*Format, error) {
	c := compiler{parts: parts}
	c.checkBounds(-1, "", len(parts), 1, maxParts, "parts")
	f := &Format{}
	for i, p := range parts {
		f.parts = append(f.parts, c.compilePart(i, p))
	}
	if len(c.faults) == 0 {
		c.checkUnique(f)
	}
	return f, errors.Join(c.faults...)
}

// compiler compiles parts, and collects their faults.
type compiler struct {
	parts  []Part
	faults []error
}

func (c *compiler) addFault(i int, parameter, format string, args ...any) {
	c.faults = append(c.faults, &partError{i, parameter, fmt.Sprintf(format, args...)})
}

// checkBounds checks a number.
func (c *compiler) checkBounds(i int, parameter string, n, low, high int, unit string) {
	if n < low || n > high {
		c.addFault(i, parameter, "%d %s, allowed are %d to %d", n, unit, low, high)
	}
}

// compilePart compiles one part. The result is not used if the part has a fault.
func (c *compiler) compilePart(i int, p Part) part {
	if allowed[p.Type] == nil {
		c.addFault(i, "type", "%q is unknown; allowed are %s", p.Type, strings.Join(types(), ", "))
		return part{}
	}
	for name, set := range p.setParameters() {
		if set && !slices.Contains(allowed[p.Type], name) {
			c.addFault(i, name, "a part of type %s has no such parameter; it has %s", p.Type, strings.Join(allowed[p.Type], ", "))
		}
	}
	compiled := part{kind: p.Type, zone: c.zoneOf(i, p)}
	switch p.Type {
	case FixedChars:
		compiled.text = c.compileText(i, p)
	case FixedPollingChar, FixedRandomChars:
		compiled.chars, compiled.count = c.compileChars(i, p), max(p.Length, 1)
		c.checkBounds(i, "length", compiled.count, 1, maxLength, "characters")
	case DateFormat:
		compiled.date = c.compileDate(i, p)
	case Timestamp:
		compiled.base = p.BaseTS
	case UnixSeconds:
		compiled.base = p.BaseUnix
	case AutoIncrement:
		c.checkNumber(i, p)
		compiled.number, compiled.reset = newNumber(p), p.ResetScope
		if p.ResetScope == "" {
			compiled.reset = ResetNever
		}
	}
	return compiled
}

func types() []string {
	return []string{"fixed-chars", "fixed-polling-char", "fixed-random-chars", "date-format", "timestamp", "unix-seconds", "auto-increment"}
}

// zoneOf returns the time zone of a part: its own, or that of the first date.
func (c *compiler) zoneOf(i int, p Part) *time.Location {
	name, of := p.TimeZone, i
	if name == "" {
		name, of = c.firstZone()
	}
	zone, err := time.LoadLocation(name)
	if name == "Local" || err != nil {
		if of == i {
			c.addFault(i, "time_zone", "%q is no IANA time zone, such as Asia/Tokyo or UTC", name)
		}
		return time.UTC
	}
	return zone
}

func (c *compiler) firstZone() (string, int) {
	for i, p := range c.parts {
		if p.Type == DateFormat && p.TimeZone != "" {
			return p.TimeZone, i
		}
	}
	return "UTC", -1
}

func (c *compiler) compileText(i int, p Part) string {
	c.checkBounds(i, "value", len(p.Value), 1, maxText, "bytes")
	if !utf8.ValidString(p.Value) {
		c.addFault(i, "value", "is not UTF-8")
	}
	return p.Value
}

// compileChars returns the characters of a set, all different.
func (c *compiler) compileChars(i int, p Part) []rune {
	chars := []rune(p.CharsScope)
	c.checkBounds(i, "chars_scope", len(chars), 1, maxText, "characters")
	for n, r := range chars {
		if r == utf8.RuneError {
			c.addFault(i, "chars_scope", "is not UTF-8")
		} else if slices.Contains(chars[:n], r) {
			c.addFault(i, "chars_scope", "has %q twice", r)
		}
	}
	return chars
}

func (c *compiler) compileDate(i int, p Part) *datePattern {
	d, err := parseDate(p.Format)
	if err != nil {
		c.addFault(i, "format", "%v", err)
	}
	return d
}

func (c *compiler) checkNumber(i int, p Part) {
	if p.NumberBase != 0 {
		c.checkBounds(i, "number_base", p.NumberBase, 2, 36, "as the base")
	}
	if p.Length != 0 || p.LengthFixed {
		c.checkBounds(i, "length", p.Length, 1, maxLength, "characters")
	}
	if !slices.Contains([]string{"", "prefix", "suffix"}, p.PaddingMode) {
		c.addFault(i, "padding_mode", "%q is neither prefix nor suffix", p.PaddingMode)
	}
	if p.ResetScope != "" && !slices.Contains([]Reset{ResetNever, ResetYear, ResetMonth, ResetDate}, p.ResetScope) {
		c.addFault(i, "reset_scope", "%q is none of none, year, month, date", p.ResetScope)
	}
	if r := []rune(p.PaddingChar); len(r) > 1 || len(r) == 1 && r[0] >= utf8.RuneSelf {
		c.addFault(i, "padding_char", "%q is not one ASCII character", p.PaddingChar)
	}
	c.checkPadding(i, p)
}

// checkPadding refuses padding after which two numbers look alike: 1 and 10, padded
// after it with zeros; 5 and 55, padded before with fives.
func (c *compiler) checkPadding(i int, p Part) {
	n := newNumber(p)
	pad := []rune(n.padding)
	if n.length == 0 || len(pad) != 1 || n.base < 2 || n.base > 36 || !isDigit(pad[0], n.base) || pad[0] == '0' && !n.suffix {
		return
	}
	c.addFault(i, "padding_char", "%q is a digit: padded numbers would be equal, such as 1 and 1%s; pad with another character, or with 0 on the side of the prefix", n.padding, n.padding)
}

// checkUnique refuses a format that cannot make unique IDs.
func (c *compiler) checkUnique(f *Format) {
	if g := f.Guarantee(); !g.Certain && g.Bits == 0 {
		c.addFault(-1, "", "IDs could not be unique: there is neither an auto-increment part nor one of random characters")
	}
	for i, p := range f.parts {
		if p.kind == AutoIncrement && p.reset != ResetNever && !f.showsPeriod(p, twoDigits) {
			c.addFault(i, "reset_scope", "IDs would repeat: numbers begin anew with each %s, but no part shows the %s in the time zone %s; add a date-format part such as %q", p.reset, p.reset, p.zone, dateFor[p.reset])
		}
	}
	c.checkBorders(f)
}

// checkBorders refuses a format in which two parts of varying length follow each other
// without a text between them that shows where the first ends: two IDs with different
// parts could then be equal.
func (c *compiler) checkBorders(f *Format) {
	last := -1 // the latest part of varying length
	for i, p := range f.parts {
		if p.width() >= 0 {
			continue
		}
		if last >= 0 && !f.hasSeparator(last, i) {
			c.addFault(i, "", "IDs could repeat: nothing tells where parts[%d] ends and this one begins, since both vary in length; put fixed-chars that neither can contain between them, or give one of them length_fixed", last)
		}
		last = i
	}
}

var (
	// ErrExhausted says that a number does not fit an auto-increment part: the
	// sequence has ended.
	ErrExhausted = errors.New("format: the sequence is exhausted")
	// ErrBeforeBase says that the clock is before the base of a timestamp part.
	ErrBeforeBase = errors.New("format: the clock is before the base of the timestamp")
)

// partError is a fault of one part of a format.
type partError struct {
	part      int    // index, from 0; -1 for the format as a whole
	parameter string // as requests name it; "" for the part as a whole
	reason    string // what is wrong, and what is allowed
}

// Fault returns the part, the parameter and the reason: for the ID service, which names them in its own way.
func (e *partError) Fault() (part int, parameter, reason string) {
	return e.part, e.parameter, e.reason
}

// Error implements error.
func (e *partError) Error() string {
	switch {
	case e.part < 0:
		return "parts: " + e.reason
	case e.parameter == "":
		return fmt.Sprintf("parts[%d]: %s", e.part, e.reason)
	}
	return fmt.Sprintf("parts[%d].%s: %s", e.part, e.parameter, e.reason)
}
