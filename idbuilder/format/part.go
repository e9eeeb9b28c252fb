// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Type is the type of a [Part], by its name in requests.
type Type string

// Types of parts.
const (
	FixedChars       Type = "fixed-chars"
	FixedPollingChar Type = "fixed-polling-char"
	FixedRandomChars Type = "fixed-random-chars"
	DateFormat       Type = "date-format"
	Timestamp        Type = "timestamp"
	UnixSeconds      Type = "unix-seconds"
	AutoIncrement    Type = "auto-increment"
)

// Part configures one part of a formatted ID. Each type has parameters of its
// own; those of another type are refused. Zero stands for the default.
type Part struct {
	Type Type `json:"type"`

	// Value is the text of FixedChars.
	Value string `json:"value,omitempty"`

	// CharsScope has the characters of FixedPollingChar, which uses them in turn,
	// and of FixedRandomChars, which draws Length of them (default 1).
	CharsScope string `json:"chars_scope,omitempty"`

	// Format is the pattern of DateFormat, such as "yyyyMMdd": see the documentation of the package.
	Format string `json:"format,omitempty"`
	// TimeZone is the IANA time zone of DateFormat, and the one in which an
	// AutoIncrement resets. The default value is that of the first DateFormat
	// that has one, or UTC.
	TimeZone string `json:"time_zone,omitempty"`

	// BaseTS is subtracted by Timestamp, milliseconds since 1970.
	BaseTS int64 `json:"base_ts,omitempty"`
	// BaseUnix is subtracted by UnixSeconds, seconds since 1970.
	BaseUnix int64 `json:"base_unix,omitempty"`

	// Length is the number of characters of FixedRandomChars, and that to which
	// AutoIncrement is padded.
	Length int `json:"length,omitempty"`
	// LengthFixed refuses numbers of AutoIncrement that are longer than Length.
	LengthFixed bool `json:"length_fixed,omitempty"`
	// PaddingMode says on which side AutoIncrement is padded: "prefix", the default, or
	// "suffix".
	PaddingMode string `json:"padding_mode,omitempty"`
	// PaddingChar pads AutoIncrement. The default value is "0".
	PaddingChar string `json:"padding_char,omitempty"`
	// NumberBase is the base of AutoIncrement, 2 to 36. The default value is 10.
	NumberBase int `json:"number_base,omitempty"`
	// ResetScope says when AutoIncrement begins at 1 again. The default value
	// is ResetNever.
	ResetScope Reset `json:"reset_scope,omitempty"`
}

// setParameters returns the parameters that are set, by their names in requests.
func (p Part) setParameters() map[string]bool {
	return map[string]bool{
		"value": p.Value != "", "chars_scope": p.CharsScope != "", "format": p.Format != "", "time_zone": p.TimeZone != "",
		"base_ts": p.BaseTS != 0, "base_unix": p.BaseUnix != 0, "length": p.Length != 0, "length_fixed": p.LengthFixed,
		"padding_mode": p.PaddingMode != "", "padding_char": p.PaddingChar != "", "number_base": p.NumberBase != 0, "reset_scope": p.ResetScope != "",
	}
}

// allowed lists the parameters of each type.
var allowed = map[Type][]string{
	FixedChars:       {"value"},
	FixedPollingChar: {"chars_scope"},
	FixedRandomChars: {"chars_scope", "length"},
	DateFormat:       {"format", "time_zone"},
	Timestamp:        {"base_ts"},
	UnixSeconds:      {"base_unix"},
	AutoIncrement:    {"length", "length_fixed", "padding_mode", "padding_char", "number_base", "reset_scope", "time_zone"},
}

// number is a compiled auto-increment part.
type number struct {
	base    int
	length  int
	fixed   bool
	suffix  bool
	padding string
	max     int64 // the last number that fits
}

func newNumber(p Part) *number {
	n := &number{base: p.NumberBase, length: p.Length, fixed: p.LengthFixed, suffix: p.PaddingMode == "suffix", padding: p.PaddingChar, max: math.MaxInt64}
	if n.base == 0 {
		n.base = 10
	}
	if n.padding == "" {
		n.padding = "0"
	}
	if n.fixed {
		n.max = lastOf(n.base, n.length)
	}
	return n
}

// lastOf returns the greatest number of so many digits, at most that of an int64.
func lastOf(base, digits int) int64 {
	last := int64(0)
	for range digits {
		if last > (math.MaxInt64-int64(base)+1)/int64(base) {
			return math.MaxInt64
		}
		last = last*int64(base) + int64(base) - 1
	}
	return last
}

// appendTo appends the number v, which must not be negative.
func (n *number) appendTo(dst []byte, v int64) ([]byte, error) {
	if v > n.max || v < 0 {
		return dst, ErrExhausted
	}
	var digits [64]byte
	text := strconv.AppendInt(digits[:0], v, n.base)
	missing := max(n.length-len(text), 0)
	if !n.suffix {
		dst = append(dst, strings.Repeat(n.padding, missing)...)
	}
	dst = append(dst, text...)
	if n.suffix {
		dst = append(dst, strings.Repeat(n.padding, missing)...)
	}
	return dst, nil
}

// isDigit reports whether a character is a digit of the base.
func isDigit(c rune, base int) bool {
	return strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyz"[:base], c)
}

// Bounds and characters of the placeholders of a pattern.
const (
	maxPatternDigits = 20
	maxPatternRandom = 32
	patternChars     = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
)

// placeholders are those without a number.
var placeholders = map[string][]Part{
	"YYYY": {{Type: DateFormat, Format: "yyyy"}},
	"YY":   {{Type: DateFormat, Format: "yy"}},
	"MM":   {{Type: DateFormat, Format: "MM"}},
	"DD":   {{Type: DateFormat, Format: "dd"}},
	"HH":   {{Type: DateFormat, Format: "HH"}},
	"mm":   {{Type: DateFormat, Format: "mm"}},
	"ss":   {{Type: DateFormat, Format: "ss"}},
	"UUID": uuidParts,
}

// uuidParts are a UUID of version 4 (RFC 9562, section 5.4): 122 random bits.
var uuidParts = []Part{
	{Type: FixedRandomChars, CharsScope: hexDigits, Length: 8},
	{Type: FixedChars, Value: "-"},
	{Type: FixedRandomChars, CharsScope: hexDigits, Length: 4},
	{Type: FixedChars, Value: "-4"},
	{Type: FixedRandomChars, CharsScope: hexDigits, Length: 3},
	{Type: FixedChars, Value: "-"},
	{Type: FixedRandomChars, CharsScope: "89ab", Length: 1},
	{Type: FixedRandomChars, CharsScope: hexDigits, Length: 3},
	{Type: FixedChars, Value: "-"},
	{Type: FixedRandomChars, CharsScope: hexDigits, Length: 12},
}

const hexDigits = "0123456789abcdef"

// resets are the names of resets that a pattern can have.
var resets = map[string]Reset{"": ResetNever, "never": ResetNever, "daily": ResetDate, "monthly": ResetMonth, "yearly": ResetYear}

// ParsePattern translates a pattern, such as "INV{YYYY}{MM}{DD}-{SEQ:4}", into
// parts. Its placeholders are {YYYY} {YY} {MM} {DD} {HH} {mm} {ss} of the time in UTC, {SEQ:N}
// for a number of at least N digits, 1 to 20, at most once; {RAND:N} for 1 to 32 random capital
// letters and digits; {UUID}. The reset of the number is "never", "daily", "monthly" or
// "yearly". [Compile] checks whether the IDs are unique.
func ParsePattern(pattern, sequenceReset string) ([]Part, error) {
	reset, ok := resets[sequenceReset]
	if !ok {
		return nil, fmt.Errorf("sequence_reset: %q is none of never, daily, monthly, yearly", sequenceReset)
	}
	var parts []Part
	for rest := pattern; rest != ""; {
		found, size, err := nextPlaceholder(rest, reset)
		if err != nil {
			return nil, fmt.Errorf("pattern: at byte %d: %w", len(pattern)-len(rest)+1, err)
		}
		parts, rest = append(parts, found...), rest[size:]
	}
	if strings.Count(pattern, "{SEQ:") > 1 {
		return nil, errors.New("pattern: {SEQ:N} stands twice, allowed is once")
	}
	return parts, nil
}

// nextPlaceholder returns the parts for the text or the placeholder with which s begins,
// and its size.
func nextPlaceholder(s string, reset Reset) ([]Part, int, error) {
	if !strings.HasPrefix(s, "{") {
		text, _, _ := strings.Cut(s, "{")
		return []Part{{Type: FixedChars, Value: text}}, len(text), nil
	}
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return nil, 0, errors.New("a brace is not closed")
	}
	parts, err := placeholder(s[1:end], reset)
	return parts, end + 1, err
}

func placeholder(name string, reset Reset) ([]Part, error) {
	if parts := placeholders[name]; parts != nil {
		return parts, nil
	}
	kind, number, _ := strings.Cut(name, ":")
	switch kind {
	case "SEQ":
		n, err := bounded(number, maxPatternDigits)
		return []Part{{Type: AutoIncrement, Length: n, ResetScope: reset}}, err
	case "RAND":
		n, err := bounded(number, maxPatternRandom)
		return []Part{{Type: FixedRandomChars, CharsScope: patternChars, Length: n}}, err
	}
	return nil, fmt.Errorf("the placeholder {%s} is unknown; allowed are {YYYY} {YY} {MM} {DD} {HH} {mm} {ss} {SEQ:N} {RAND:N} {UUID}", name)
}

func bounded(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", text, most)
	}
	return n, nil
}
