// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

// tagKey is the key of the struct tags that persistgen reads.
const tagKey = "persist"

// tag is the value of a persist struct tag. Each byte of text knows the offset
// of its source in the tag's literal, so that faults point into the tag.
type tag struct {
	text    string
	offsets []int // len(text)+1 entries
}

// offset returns where text[i] stands in the literal.
func (t tag) offset(i int) int {
	if i < 0 || i >= len(t.offsets) {
		return 0
	}
	return t.offsets[i]
}

// errTagSyntax is the fault of a struct tag that reflect could not read.
var errTagSyntax = errors.New(`the struct tag is malformed; write it as key:"value" pairs with single spaces between`)

// misspeltKeyError is a tag key that is nearly "persist".
type misspeltKeyError struct{ key string }

func (e *misspeltKeyError) Error() string {
	return "unknown tag key " + e.key + "; did you mean " + tagKey + "?"
}

// parseTag finds the persist value in the source of a struct tag, a raw or
// interpreted string literal. found is false where there is none. at is the
// offset of a fault in the literal.
func parseTag(literal string) (t tag, found bool, at int, err error) {
	whole, ok := unquote(literal, nil)
	if !ok {
		return tag{}, false, 0, errTagSyntax
	}
	rest := 0
	for {
		for rest < len(whole.text) && whole.text[rest] == ' ' {
			rest++
		}
		if rest == len(whole.text) {
			return tag{}, false, 0, nil
		}
		key, value, next, ok := nextPair(whole, rest)
		switch {
		case !ok:
			return tag{}, false, whole.offset(rest), errTagSyntax
		case key == tagKey:
			return value, true, 0, nil
		case nearest.Distance(key, tagKey) <= 2 && strings.HasPrefix(key, "p"):
			return tag{}, false, whole.offset(rest), &misspeltKeyError{key}
		}
		rest = next
	}
}

// nextPair reads one key:"value" pair at whole.text[from:].
func nextPair(whole tag, from int) (key string, value tag, next int, ok bool) {
	s := whole.text[from:]
	colon := strings.IndexByte(s, ':')
	if colon <= 0 || strings.ContainsFunc(s[:colon], func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }) || colon+1 >= len(s) || s[colon+1] != '"' {
		return "", tag{}, 0, false
	}
	end := colon + 2
	for end < len(s) && s[end] != '"' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		return "", tag{}, 0, false
	}
	start := from + colon + 1
	value, ok = unquote(s[colon+1:end+1], whole.offsets[start:])
	return s[:colon], value, from + end + 1, ok
}

// unquote evaluates a Go string literal and maps each byte of the result to
// its offset in the literal, or to base[offset] if base is given.
func unquote(literal string, base []int) (tag, bool) {
	if len(literal) < 2 || literal[0] != literal[len(literal)-1] {
		return tag{}, false
	}
	t := tag{}
	var text strings.Builder
	note := func(offset, n int) {
		if base != nil {
			offset = base[offset]
		}
		for range n {
			t.offsets = append(t.offsets, offset)
		}
	}
	quote, body := literal[0], literal[1:len(literal)-1]
	for at := 0; at < len(body); {
		decoded, n, ok := unquoteOne(body[at:], quote)
		if !ok {
			return tag{}, false
		}
		text.WriteString(decoded)
		note(1+at, len(decoded))
		at += n
	}
	note(1+len(body), 1)
	t.text = text.String()
	return t, true
}

// unquoteOne decodes the first character or escape of a literal's body and
// returns how many bytes of it that takes.
func unquoteOne(body string, quote byte) (decoded string, n int, ok bool) {
	switch quote {
	case '`':
		return body[:1], 1, true
	case '"':
		r, multibyte, tail, err := strconv.UnquoteChar(body, quote)
		if err != nil {
			return "", 0, false
		}
		decoded = string(r)
		if r < utf8.RuneSelf || !multibyte {
			decoded = string([]byte{byte(r)})
		}
		return decoded, len(body) - len(tail), true
	}
	return "", 0, false
}

// word is one comma-separated part of a tag: an option, with the text after an
// equals sign as its value.
type word struct {
	text     string // the whole, without surrounding spaces
	key      string // before the first "=", or the whole
	value    string
	hasValue bool
	at       int // offset in the tag's literal
	valueAt  int
}

// words splits the tag at commas. An empty tag has no words.
func (t tag) words() []word {
	if strings.TrimSpace(t.text) == "" {
		return nil
	}
	var list []word
	start := 0
	for _, part := range strings.Split(t.text, ",") {
		lead := len(part) - len(strings.TrimLeft(part, " "))
		w := word{text: strings.TrimSpace(part), at: t.offset(start + lead)}
		w.key, w.value, w.hasValue = strings.Cut(w.text, "=")
		w.valueAt = t.offset(start + lead + len(w.key) + 1)
		list = append(list, w)
		start += len(part) + 1
	}
	return list
}
