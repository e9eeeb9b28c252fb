// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"strconv"
	"strings"
)

// conditionToken is a word, an operator or a string of a condition.
type conditionToken struct {
	kind   tokenKind
	text   string // of a string, its value
	offset int    // in the tag's literal
}

type tokenKind int

const (
	endToken tokenKind = iota
	wordToken
	operatorToken
	stringToken
)

// is reports whether the token is that word.
func (t conditionToken) is(text string) bool { return t.kind == wordToken && t.text == text }

const operatorBytes = "=!<>"

// scan splits a condition into tokens.
func (p *conditionParser) scan(text string, offsets []int) {
	p.end = offsets[len(text)]
	for i := 0; i < len(text); {
		n, t := 1, conditionToken{offset: offsets[i]}
		switch ch := text[i]; {
		case ch == ' ' || ch == '\t':
			i++
			continue
		case ch == '"' || ch == '\'':
			value, size, ok := scanString(text[i:])
			if !ok {
				p.bad(t.offset, "the string is not closed, or has an escape that Go does not have")
				return
			}
			n, t.kind, t.text = size, stringToken, value
		case strings.IndexByte(operatorBytes, ch) >= 0:
			n = prefixLength(text[i:], func(ch byte) bool { return strings.IndexByte(operatorBytes, ch) >= 0 })
			t.kind, t.text = operatorToken, text[i:i+n]
		default:
			n = prefixLength(text[i:], func(ch byte) bool { return strings.IndexByte(operatorBytes+" \t\"'", ch) < 0 })
			t.kind, t.text = wordToken, text[i:i+n]
		}
		p.tokens = append(p.tokens, t)
		i += n
	}
}

// prefixLength is how many of the first bytes belong.
func prefixLength(text string, belongs func(byte) bool) int {
	for i := range len(text) {
		if !belongs(text[i]) {
			return i
		}
	}
	return len(text)
}

// scanString reads a string in single or double quotes, with the escapes of Go.
func scanString(text string) (value string, size int, ok bool) {
	quote, rest := text[0], text[1:]
	var b strings.Builder
	for rest != "" && rest[0] != quote {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return "", 0, false
		}
		if r < 0x80 || multibyte {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		rest = tail
	}
	if rest == "" {
		return "", 0, false
	}
	return b.String(), len(text) - len(rest) + 1, true
}
