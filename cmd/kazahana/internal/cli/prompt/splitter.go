// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"errors"
	"strings"
)

// errQuote says that a quoted text has no end.
var errQuote = errors.New("a quote has no end")

// split returns the words of a line. A word that contains spaces stands in 'quotes' or
// "quotes", in which nothing else has a meaning. A backslash before a space or a quote,
// outside of quotes, takes its meaning away; otherwise it is an ordinary character, as in
// paths and keys. # at the begin of a word begins a comment.
func split(line string) (words []string, err error) {
	s := splitter{rest: line}
	for s.skipSpace() {
		word, err := s.word()
		if err != nil {
			return words, err
		}
		words = append(words, word)
	}
	return words, nil
}

// splitter takes words from the begin of a text.
type splitter struct{ rest string }

// skipSpace reports whether a word follows.
func (s *splitter) skipSpace() bool {
	s.rest = strings.TrimLeft(s.rest, " \t\r\n")
	return s.rest != "" && s.rest[0] != '#'
}

func (s *splitter) word() (string, error) {
	var word strings.Builder
	for s.rest != "" {
		c := s.rest[0]
		s.rest = s.rest[1:]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			return word.String(), nil
		case c == '\'' || c == '"':
			quoted, after, found := strings.Cut(s.rest, string(c))
			word.WriteString(quoted)
			if s.rest = after; !found {
				return word.String(), errQuote
			}
		case c == '\\' && s.rest != "" && strings.IndexByte(" \t'\"", s.rest[0]) >= 0:
			word.WriteByte(s.rest[0])
			s.rest = s.rest[1:]
		default:
			word.WriteByte(c)
		}
	}
	return word.String(), nil
}

// quote returns a word as split reads it.
func quote(word string) string {
	switch {
	case word != "" && !strings.ContainsAny(word, " \t\r\n'\"") && word[0] != '#' && !strings.HasSuffix(word, `\`):
		return word
	case !strings.Contains(word, "'"):
		return "'" + word + "'"
	case !strings.Contains(word, `"`):
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}

// splitPartial returns the words of the begin of a line and, apart, the word that is being
// typed, with the place where it begins.
func splitPartial(line string) (words []string, word string, at int) {
	s := splitter{rest: line}
	for s.skipSpace() {
		at = len(line) - len(s.rest)
		w, err := s.word()
		if s.rest == "" && (err != nil || !strings.HasSuffix(line, " ")) {
			return words, w, at
		}
		words = append(words, w)
	}
	return words, "", len(line)
}
