// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"go/token"
)

// fieldSite is a field's place in the source: where faults are reported.
type fieldSite struct {
	at      token.Position
	pos     token.Pos
	subject string
	literal string // the tag as written; "" if there is none
	tagAt   token.Position
}

// inTag is the position at an offset of the tag's literal.
func (s fieldSite) inTag(offset int) token.Position {
	at := s.tagAt
	if at.Line == 0 {
		return s.at
	}
	for _, ch := range []byte(s.literal[:min(offset, len(s.literal))]) {
		at.Column++
		if ch == '\n' {
			at.Line, at.Column = at.Line+1, 1
		}
	}
	return at
}

// positions turns the offsets of options into positions of the source.
func positions(offsets map[string]int, s fieldSite) map[string]token.Position {
	m := map[string]token.Position{}
	for option, offset := range offsets {
		m[option] = s.inTag(offset)
	}
	return m
}
