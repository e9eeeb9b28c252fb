// SPDX-License-Identifier: Apache-2.0

// Package tags parses persist struct tags: the options of fields, of markers and of
// indexes, and the path of a directory. It knows the offset of each word in the
// source of the tag, so that a fault points into the tag.
//
// It returns all faults of a tag at once, as values of type [Fault]. It does not
// know Go types, so it does not check names of fields.
package tags

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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

// Offset returns where text[i] stands in the literal.
func (t Tag) Offset(i int) int {
	if i < 0 || i >= len(t.offsets) {
		return 0
	}
	return t.offsets[i]
}

// errTagSyntax is the fault of a struct tag that reflect could not read.
var errTagSyntax = errors.New(`the struct tag is malformed; write it as key:"value" pairs with single spaces between`)

// malformed returns errTagSyntax for a literal. A string in a condition that stands in double
// quotes ends the tag.
func malformed(literal string) error {
	if strings.Contains(literal, `="`) {
		return fmt.Errorf("%w; a string in a condition stands in single quotes: where=Country='FI'", errTagSyntax)
	}
	return errTagSyntax
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
		return Tag{}, false, 0, malformed(literal)
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
			return Tag{}, false, whole.Offset(rest), malformed(literal)
		case word != key && (stray < 0 || isNearlyKey(word)):
			stray = rest
			found = found || isNearlyKey(word)
		case key == tagKey && found:
			return Tag{}, false, whole.Offset(rest), errSecondKey
		case key == tagKey:
			t, found = value, true
		case isNearlyKey(key):
			return Tag{}, false, whole.Offset(rest), errors.New("unknown tag key " + key + "; did you mean " + tagKey + "?")
		}
		rest = next
	}
	if found && stray >= 0 {
		return Tag{}, false, whole.Offset(stray), malformed(literal)
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

// quotedOptions are the options with values in which quotes keep commas together.
var quotedOptions = []string{"where=", "match="}

// splitWords splits at commas, except at those within the quotes of a condition or a regular expression.
func splitWords(text string) (parts []string) {
	start, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0 && ch == '\\':
			i++
		case quote != 0 && ch == quote:
			quote = 0
		case quote != 0:
		case (ch == '"' || ch == '\'') && slices.ContainsFunc(quotedOptions, func(option string) bool {
			return strings.HasPrefix(strings.TrimLeft(text[start:i], " "), option)
		}):
			quote = ch
		case ch == ',':
			parts, start = append(parts, text[start:i]), i+1
		}
	}
	return append(parts, text[start:])
}

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

// Suggest returns "; did you mean X?" for the word nearest to the misspelt
// one, or, where none is near, the list of the valid words.
func Suggest(word string, valid []string) string {
	best, distance := nearest.Word(word, valid)
	switch {
	case len(valid) == 0:
		return ""
	case distance <= len(word)/2:
		return fmt.Sprintf("; did you mean %s?", best)
	}
	return "; valid are " + strings.Join(valid, ", ")
}

// Fault is a fault at an offset of a tag's literal.
type Fault struct {
	Offset  int
	Message string
}

// NamePattern is what type, field and index names may be.
var NamePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// CheckName returns why a key-stable name is not allowed, or "".
func CheckName(name string) string {
	switch {
	case !NamePattern.MatchString(name):
		return fmt.Sprintf("%q is not a name; use letters, digits and underscores, a letter first", name)
	case name == "unique":
		return `the name "unique" is reserved: the keys of unique indexes end in it`
	}
	return ""
}

// Field numbers, as protobuf limits them.
const (
	IDNumber        = 1
	MaxNumber       = 1<<29 - 1
	ReservedNumbers = 19000 // to 19999: protobuf's own
)
