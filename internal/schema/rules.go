// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The words of the fields that writes set: the time of the creation of a record, of its last write, and
// of its deletion, which leaves the record where it is.
const (
	Created = "created"
	Updated = "updated"
	Deleted = "deleted"
)

// Ref is the word of a field that refers to records: its value is their directory, with a slash and their type after
// it. A {Field} of that path is one of the field's own directory.
const Ref = "ref"

// ruleWords are all words of rules, those of bounds and references without their values.
var ruleWords = slices.Concat([]string{Created, Updated, Deleted}, BoundOptions, []string{Ref})

// BoundOptions are the options that bound the values of a field, in the order of the text.
var BoundOptions = []string{"min", "max", "maxlen", "match"}

// Rules are what writes check of a field, or set in it, and to which records it refers. A stored value may break them.
type Rules struct {
	// Revision grows with each change of the words in persist.lock: of the rules of two programs
	// those with the greater one are the newer. 0: the field never had any.
	Revision int
	Words    []string // created, updated, deleted, or such as min=1 and ref="a/B", with a Go literal without spaces
}

// Has reports whether a word is one of the rules.
func (r Rules) Has(word string) bool { return slices.Contains(r.Words, word) }

// Value returns the literal of an option, "" if the field has no such bound.
func (r Rules) Value(option string) string {
	for _, w := range r.Words {
		if word, value, _ := strings.Cut(w, "="); word == option {
			return value
		}
	}
	return ""
}

// Follow returns the rules with these words, as the successor of r.
func (r Rules) Follow(words []string) Rules {
	if slices.Equal(r.Words, words) {
		return r
	}
	return Rules{r.Revision + 1, words}
}

func (r Rules) text() string {
	if r.Revision == 0 {
		return ""
	}
	return strings.Join(append([]string{" rules", strconv.Itoa(r.Revision)}, r.Words...), " ")
}

// cutRules cuts the rules from the words that follow the kind of a field.
func cutRules(words []string) (r Rules, rest []string, ok bool) {
	var err error
	if r.Revision, err = strconv.Atoi(words[1]); err != nil || r.Revision < 1 {
		return r, words, false
	}
	rest = words[2:]
	for _, word := range ruleWords {
		if len(rest) > 0 && (rest[0] == word || strings.HasPrefix(rest[0], word+"=")) {
			r.Words, rest = append(r.Words, rest[0]), rest[1:]
		}
	}
	return r, rest, true
}

// Literal returns the Go literal of a text without spaces.
func Literal(text string) string { return strings.ReplaceAll(strconv.QuoteToASCII(text), " ", `\x20`) }

// BoundText returns a bound of a field as people write it.
func BoundText(kind, option, literal string) string {
	k, _ := ParseKind(kind)
	text := literal
	if unquoted, err := strconv.Unquote(literal); err == nil {
		text = unquoted
	}
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil && k.Base == "duration" && option != "maxlen" {
		text = time.Duration(n).String()
	}
	return option + "=" + text
}

// Broken says that a value breaks a bound, which is as [BoundText] writes it. The value of a
// maxlen is a text, bytes, or the number of elements.
func Broken(bound string, v any) string {
	switch x := v.(type) {
	case string:
		if strings.HasPrefix(bound, "maxlen=") {
			return fmt.Sprintf("it has %d characters, which %s refuses", utf8.RuneCountInString(x), bound)
		}
		return fmt.Sprintf("it is %.60q, which %s refuses", x, bound)
	case []byte:
		return fmt.Sprintf("it has %d bytes, which %s refuses", len(x), bound)
	}
	if strings.HasPrefix(bound, "maxlen=") {
		return fmt.Sprintf("it has %v elements, which %s refuses", v, bound)
	}
	return fmt.Sprintf("it is %v, which %s refuses", v, bound)
}

// TagSum is a number for the tag persist of a field of a type or message. marker is the name of its Go type if that is one of
// package persistable. The sum of those of a type tells whether its code was generated for other tags, whatever
// the order of the fields.
func TagSum(of, marker, field, tag string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %s %s", of, marker, field, tag)
	return h.Sum64()
}
