// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

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

// resets are the names of resets beside a pattern.
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
		return 0, fmt.Errorf("%q is no number from 1 to %d", text, most)
	}
	return n, nil
}
