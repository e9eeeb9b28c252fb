// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"errors"
	"strings"

	"github.com/kazahana-db/kazahana/internal/nearest"
)

// tagKey is the key of the struct tags that persistgen reads.
const tagKey = "persist"

// Tag is the value of a persist struct tag, with the offset of each byte in the
// tag's literal, so that faults point into the tag.
type Tag struct {
	text    string
	offsets []int // len(text)+1 entries
}

// misspeltKeyError is a tag key that is nearly "persist".
type misspeltKeyError struct{ key string }

// Offset returns where text[i] stands in the literal.
func (t Tag) Offset(i int) int {
	if i < 0 || i >= len(t.offsets) {
		return 0
	}
	return t.offsets[i]
}

// errTagSyntax is the fault of a struct tag that reflect could not read.
var errTagSyntax = errors.New(`the struct tag is malformed; write it as key:"value" pairs with single spaces between`)

func (e *misspeltKeyError) Error() string {
	return "unknown tag key " + e.key + "; did you mean " + tagKey + "?"
}

// Parse finds the persist value in the source of a struct tag, a raw or
// interpreted string literal. found is false where there is none. at is the
// offset of a fault in the literal.
func Parse(literal string) (t Tag, found bool, at int, err error) {
	whole, ok := unquote(literal, nil)
	if !ok {
		return Tag{}, false, 0, errTagSyntax
	}
	rest := 0
	for {
		for rest < len(whole.text) && whole.text[rest] == ' ' {
			rest++
		}
		if rest == len(whole.text) {
			return Tag{}, false, 0, nil
		}
		key, value, next, ok := nextPair(whole, rest)
		switch {
		case !ok:
			return Tag{}, false, whole.Offset(rest), errTagSyntax
		case key == tagKey:
			return value, true, 0, nil
		case nearest.Distance(key, tagKey) <= 2 && strings.HasPrefix(key, "p"):
			return Tag{}, false, whole.Offset(rest), &misspeltKeyError{key}
		}
		rest = next
	}
}

// Words splits the tag at commas. An empty tag has no words.
func (t Tag) Words() []word {
	if strings.TrimSpace(t.text) == "" {
		return nil
	}
	var list []word
	start := 0
	for _, part := range splitWords(t.text) {
		lead := len(part) - len(strings.TrimLeft(part, " "))
		w := word{Text: strings.TrimSpace(part), Offset: t.Offset(start + lead), offsets: t.offsets[min(start+lead, len(t.text)):]}
		w.key, w.value, w.hasValue = strings.Cut(w.Text, "=")
		w.ValueOffset = t.Offset(start + lead + len(w.key) + 1)
		list = append(list, w)
		start += len(part) + 1
	}
	return list
}
