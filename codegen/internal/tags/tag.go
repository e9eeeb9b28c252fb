// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"errors"
	"strings"
	"unicode"

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

// errSecondKey is the fault of a tag that has two persist values, of which a reader would
// find the first.
var errSecondKey = errors.New("a second persist key in one tag; write all options into the first, with commas between")

// Parse finds the persist value in the source of a struct tag, a raw or
// interpreted string literal. found is false where there is none. at is the
// offset of a fault in the literal. A key that is nearly persist is a fault, and so
// is, in a tag that has either, whatever keeps other readers from a pair.
func Parse(literal string) (t Tag, found bool, at int, err error) {
	whole, ok := unquote(literal, nil)
	if !ok {
		return Tag{}, false, 0, errTagSyntax
	}
	rest, stray := 0, -1
	for {
		for rest < len(whole.text) && whole.text[rest] == ' ' {
			rest++
		}
		if rest == len(whole.text) {
			break
		}
		key, value, next, ok := nextPair(whole, rest)
		word := strings.TrimLeftFunc(key, func(r rune) bool { return !unicode.IsLetter(r) })
		switch {
		case !ok:
			return Tag{}, false, whole.Offset(rest), errTagSyntax
		case word != key && (stray < 0 || isNearlyKey(word)):
			stray = rest
			found = found || isNearlyKey(word)
		case key == tagKey && found:
			return Tag{}, false, whole.Offset(rest), errSecondKey
		case key == tagKey:
			t, found = value, true
		case isNearlyKey(key):
			return Tag{}, false, whole.Offset(rest), &misspeltKeyError{key}
		}
		rest = next
	}
	if found && stray >= 0 {
		return Tag{}, false, whole.Offset(stray), errTagSyntax
	}
	return t, found, 0, nil
}

// isNearlyKey reports whether a key is persist, or probably meant it.
func isNearlyKey(key string) bool {
	return strings.HasPrefix(strings.ToLower(key), tagKey) || nearest.Distance(key, tagKey) <= 2
}

// HasPersist reports whether a struct tag has a persist value, or one that is nearly.
func HasPersist(literal string) bool {
	_, found, _, err := Parse(literal)
	return found || err != nil && !errors.Is(err, errTagSyntax) || err != nil && strings.Contains(strings.ToLower(literal), tagKey)
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
