// SPDX-License-Identifier: Apache-2.0

package where

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// token is a word, a text, an operator or a mark.
type token struct {
	kind tokenKind
	text string
	at   int // bytes before it
}

type tokenKind int

const (
	end      tokenKind = iota
	word               // of a field, a value, and, or, in
	text               // in quotes
	operator           // =, != and so on
	mark               // ( ) ,
)

// lexer cuts a text into tokens.
type lexer struct {
	input string
	pos   int
}

// fault returns an error at a place.
func (l *lexer) fault(at int, format string, args ...any) *Error {
	return &Error{At: utf8.RuneCountInString(l.input[:at]) + 1, Reason: fmt.Sprintf(format, args...)}
}

const (
	spaces    = " \t\r\n"
	operators = "=!<>"
	marks     = "(),"
	quotes    = `"'`
)

// next returns the next token.
func (l *lexer) next() (token, error) {
	rest := strings.TrimLeft(l.input[l.pos:], spaces)
	at := len(l.input) - len(rest)
	t := token{at: at}
	switch {
	case rest == "":
	case strings.ContainsRune(marks, rune(rest[0])):
		t.kind, t.text = mark, rest[:1]
	case strings.ContainsRune(operators, rune(rest[0])):
		t.kind, t.text = operator, rest[:len(rest)-len(strings.TrimLeft(rest, operators))]
	case strings.ContainsRune(quotes, rune(rest[0])):
		return l.quoted(rest, at)
	default:
		n := strings.IndexAny(rest, spaces+operators+marks+quotes)
		if n < 0 {
			n = len(rest)
		}
		t.kind, t.text = word, rest[:n]
	}
	l.pos = at + len(t.text)
	return t, nil
}

// quoted returns the text in quotes that rest begins with.
func (l *lexer) quoted(rest string, at int) (t token, err error) {
	t = token{kind: text, at: at}
	if rest[0] == '\'' {
		n := strings.IndexByte(rest[1:], '\'')
		if n < 0 {
			return t, l.fault(at, "the single quote is not closed")
		}
		t.text, l.pos = rest[1:1+n], at+n+2
		return t, nil
	}
	prefix, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return t, l.fault(at, "the double quote is not closed, or an escape in the text is not one of Go")
	}
	l.pos = at + len(prefix)
	t.text, err = strconv.Unquote(prefix)
	return t, err
}
