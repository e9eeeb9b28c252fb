// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// nextPair reads one key:"value" pair at whole.text[from:].
func nextPair(whole Tag, from int) (key string, value Tag, next int, ok bool) {
	s := whole.text[from:]
	colon := strings.IndexByte(s, ':')
	if colon <= 0 || strings.ContainsFunc(s[:colon], func(r rune) bool { return r <= ' ' || r == '"' || r == 0x7f }) || colon+1 >= len(s) || s[colon+1] != '"' {
		return "", Tag{}, 0, false
	}
	end := colon + 2
	for end < len(s) && s[end] != '"' {
		if s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s) {
		return "", Tag{}, 0, false
	}
	start := from + colon + 1
	value, ok = unquote(s[colon+1:end+1], whole.offsets[start:])
	return s[:colon], value, from + end + 1, ok
}

// unquote evaluates a Go string literal and maps each byte of the result to
// its offset in the literal, or to base[offset] if base is given.
func unquote(literal string, base []int) (Tag, bool) {
	if len(literal) < 2 || literal[0] != literal[len(literal)-1] {
		return Tag{}, false
	}
	t := Tag{}
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
			return Tag{}, false
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
