// SPDX-License-Identifier: Apache-2.0

package database

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/tuple"
)

// AboutKeys says in the help of a verb how keys are written.
const AboutKeys = `
A key is written in one of three ways:
  (21, "R", "User", 42)     a tuple, as kazahana kv shows it
  0x1515025200              bytes in hexadecimal
  users/\x00alice           text, in which \xNN is a byte and \\ a backslash`

// ParseKey returns the key for a text in one of the forms of [AboutKeys].
func ParseKey(text string) ([]byte, error) {
	switch {
	case strings.HasPrefix(text, "("):
		t, err := parseTuple(text)
		if err != nil {
			return nil, fmt.Errorf("the key %s is not a tuple: %w", text, err)
		}
		return t.Pack()
	case strings.HasPrefix(text, "0x"):
		key, err := hex.DecodeString(text[2:])
		if err != nil {
			return nil, fmt.Errorf("the key %s is not hexadecimal: %w", text, err)
		}
		return key, nil
	}
	return parseEscaped(text)
}

// parseEscaped returns the bytes of a text with escapes.
func parseEscaped(text string) ([]byte, error) {
	var key []byte
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, `\`)
		key = append(key, before...)
		switch {
		case !found:
			return key, nil
		case strings.HasPrefix(after, `\`):
			key, rest = append(key, '\\'), after[1:]
			continue
		case len(after) < 3 || after[0] != 'x':
			return nil, fmt.Errorf(`the key %q has a backslash that begins neither \xNN nor \\`, text)
		}
		b, err := strconv.ParseUint(after[1:3], 16, 8)
		if err != nil {
			return nil, fmt.Errorf(`the key %q: \%s does not name a byte as \x0a does`, text, after[:3])
		}
		key, rest = append(key, byte(b)), after[3:]
	}
	return key, nil
}

// FormatKey returns bytes as text for [ParseKey]: printable ASCII as it is, other bytes as
// \xNN.
func FormatKey(bytes []byte) string {
	var b strings.Builder
	for i, c := range bytes {
		switch {
		case c == '\\':
			b.WriteString(`\\`)
		case c < ' ', c > '~', c == '(' && i == 0, c == '0' && i == 0 && len(bytes) > 1 && bytes[1] == 'x':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// FormatTuple returns the text of a packed tuple; "" if the bytes are not one.
func FormatTuple(packed []byte) string {
	t, err := tuple.Unpack(packed)
	if err != nil || len(t) == 0 {
		return ""
	}
	return t.String()
}

// maxDepth bounds the nesting of tuples.
const maxDepth = 100

// parseTuple reads a tuple in the form of [tuple.Tuple.String]. It reads neither UUIDs nor
// versionstamps, which look like other elements: write such keys in hexadecimal.
func parseTuple(text string) (tuple.Tuple, error) {
	p := tupleParser{rest: text}
	t, err := p.readTuple(0)
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = fmt.Errorf("%q follows its end", p.rest)
	}
	return t, err
}

// tupleParser parses a text from its beginning.
type tupleParser struct{ rest string }

// skipText removes a text from the beginning, and reports whether it was there.
func (p *tupleParser) skipText(text string) bool {
	after, found := strings.CutPrefix(strings.TrimLeft(p.rest, " "), text)
	if found {
		p.rest = after
	}
	return found
}

// readTuple reads elements between parentheses.
func (p *tupleParser) readTuple(depth int) (tuple.Tuple, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	if !p.skipText("(") {
		return nil, errors.New("it does not begin with (")
	}
	t := tuple.Tuple{}
	for !p.skipText(")") {
		if len(t) > 0 && !p.skipText(",") {
			return nil, fmt.Errorf("there is neither , nor ) before %q", p.rest)
		}
		element, err := p.readElement(depth)
		if err != nil {
			return nil, err
		}
		t = append(t, element)
	}
	return t, nil
}

func (p *tupleParser) readElement(depth int) (any, error) {
	p.rest = strings.TrimLeft(p.rest, " ")
	switch {
	case strings.HasPrefix(p.rest, "("):
		return p.readTuple(depth + 1)
	case strings.HasPrefix(p.rest, `"`):
		return p.readString()
	}
	word := p.rest
	if end := strings.IndexAny(word, ",)"); end >= 0 {
		word = word[:end]
	}
	p.rest = p.rest[len(word):]
	return parseWord(strings.TrimSpace(word))
}

func (p *tupleParser) readString() (string, error) {
	quoted, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		return "", fmt.Errorf("the text %s has no end, or an unknown escape", p.rest)
	}
	p.rest = p.rest[len(quoted):]
	return strconv.Unquote(quoted)
}

// parseWord returns the element for a word without quotes and parentheses.
func parseWord(word string) (any, error) {
	switch word {
	case "nil":
		return nil, nil
	case "true", "false":
		return word == "true", nil
	}
	if digits, ok := strings.CutPrefix(word, "0x"); ok {
		return hex.DecodeString(digits)
	}
	if n, ok := new(big.Int).SetString(word, 10); ok {
		return n, nil
	}
	if single, ok := strings.CutSuffix(word, "f"); ok && !strings.HasSuffix(word, "Inf") {
		f, err := strconv.ParseFloat(single, 32)
		return float32(f), err
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not an element: texts stand in quotes, bytes are hexadecimal as 0x0a; write keys with UUIDs or versionstamps in hexadecimal as a whole", word)
	}
	return f, nil
}
