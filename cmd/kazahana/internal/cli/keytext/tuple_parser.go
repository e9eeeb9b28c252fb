// SPDX-License-Identifier: Apache-2.0

package keytext

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/tuple"
)

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
