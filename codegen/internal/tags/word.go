// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"strings"
)

// word is one comma-separated part of a tag: an option, with the text after an
// equals sign as its value.
type word struct {
	Text        string // the whole, without surrounding spaces
	key         string // before the first "=", or the whole
	value       string
	hasValue    bool
	Offset      int // offset in the tag's literal
	ValueOffset int
	offsets     []int // of each byte of Text, and of what follows
}

// valueOffset is where a fault of the option's value is.
func (w word) valueOffset() int {
	if w.hasValue {
		return w.ValueOffset
	}
	return w.Offset
}

// valueOffsets are the offsets of each byte of the value, and of what follows.
func (w word) valueOffsets() []int { return w.offsets[len(w.Text)-len(w.value):] }

// splitWords splits at commas, except at those within the quotes of a condition.
func splitWords(text string) (parts []string) {
	start, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0 && ch == '\\':
			i++
		case quote != 0 && ch == quote:
			quote = 0
		case quote != 0:
		case (ch == '"' || ch == '\'') && strings.HasPrefix(strings.TrimLeft(text[start:i], " "), "where="):
			quote = ch
		case ch == ',':
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}
