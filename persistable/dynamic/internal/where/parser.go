// SPDX-License-Identifier: Apache-2.0

package where

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Expression is a condition: a comparison, or several conditions.
type Expression struct {
	Comparison *Comparison // nil: All or Any
	All        []Expression
	Any        []Expression
}

// Comparison compares a field with a value, or, by the operator in, with several. By the
// operator prefix the value begins the field's.
type Comparison struct {
	Field    string
	Operator string
	Values   []Value
}

// Value is a value as it was written.
type Value struct {
	Text   string
	Quoted bool // so that null is a text
}

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.Text == "null" && !v.Quoted }

// Error is a fault of a text.
type Error struct {
	At     int // the number of the character, from 1
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("at character %d: %s", e.At, e.Reason) }

// maxDepth bounds how deep parentheses are nested.
const maxDepth = 100

// Parse reads a condition. A fault is an *[Error].
func Parse(input string) (Expression, error) {
	p := parser{lexer: lexer{input: input}}
	if err := p.advance(); err != nil {
		return Expression{}, err
	}
	e, err := p.parseAny(0)
	if err == nil && p.token.kind != end {
		err = p.fault(p.token.at, "%.60q is too much; further conditions are joined by and, or or", p.token.text)
	}
	return e, err
}

// parser reads conditions. token is the one that comes next.
type parser struct {
	lexer
	token token
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

// skip passes over a token with that text, if it comes next.
func (p *parser) skip(kind tokenKind, text string) (found bool, err error) {
	if p.token.kind != kind || !strings.EqualFold(p.token.text, text) {
		return false, nil
	}
	return true, p.advance()
}

// parseAny reads conditions of which one must hold.
func (p *parser) parseAny(depth int) (Expression, error) {
	list, err := p.parseList("or", func() (Expression, error) { return p.parseAll(depth) })
	if len(list) == 1 {
		return list[0], err
	}
	return Expression{Any: list}, err
}

// parseAll reads conditions that must all hold.
func (p *parser) parseAll(depth int) (Expression, error) {
	list, err := p.parseList("and", func() (Expression, error) { return p.parseOne(depth) })
	if len(list) == 1 {
		return list[0], err
	}
	return Expression{All: list}, err
}

// parseList reads conditions with a word between them.
func (p *parser) parseList(between string, parse func() (Expression, error)) (list []Expression, err error) {
	for more := true; more && err == nil; {
		var e Expression
		if e, err = parse(); err != nil {
			return nil, err
		}
		list = append(list, e)
		more, err = p.skip(word, between)
	}
	return list, err
}

// parseOne reads a comparison, or a condition in parentheses.
func (p *parser) parseOne(depth int) (e Expression, err error) {
	open, err := p.skip(mark, "(")
	switch {
	case err != nil:
		return e, err
	case !open:
		return p.parseComparison()
	case depth == maxDepth:
		return e, p.fault(p.token.at, "parentheses are nested more than %d deep", maxDepth)
	}
	if e, err = p.parseAny(depth + 1); err != nil {
		return e, err
	}
	return e, p.expect(")")
}

// expect passes over a mark that must come next.
func (p *parser) expect(text string) error {
	found, err := p.skip(mark, text)
	if err == nil && !found {
		err = p.fault(p.token.at, "%s is wanted here", text)
	}
	return err
}

var comparisons = []string{"=", "!=", "<", "<=", ">", ">="}

func (p *parser) parseComparison() (e Expression, err error) {
	if p.token.kind != word {
		return e, p.fault(p.token.at, `a field is wanted here, as in Status = 1 or Name = "Ada"`)
	}
	c := &Comparison{Field: p.token.text}
	if err := p.advance(); err != nil {
		return e, err
	}
	in, err := p.skip(word, "in")
	if err != nil {
		return e, err
	}
	if in {
		c.Operator = "in"
		c.Values, err = p.parseValues()
		return Expression{Comparison: c}, err
	}
	if c.Operator, err = p.parseOperator(c.Field); err != nil {
		return e, err
	}
	v, err := p.parseValue()
	c.Values = []Value{v}
	return Expression{Comparison: c}, err
}

// parseOperator reads the operator after a field.
func (p *parser) parseOperator(field string) (string, error) {
	of := p.token.text
	switch {
	case p.token.kind == operator && slices.Contains(comparisons, of):
		return of, p.advance()
	case p.token.kind == word && strings.EqualFold(of, "prefix"):
		return "prefix", p.advance()
	}
	return "", p.fault(p.token.at, "the field %s must be followed by one of %s, or by in or prefix", field, strings.Join(comparisons, " "))
}

// parseValues reads a list of values in parentheses.
func (p *parser) parseValues() (list []Value, err error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for more := true; more; {
		v, err := p.parseValue()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if more, err = p.skip(mark, ","); err != nil {
			return nil, err
		}
	}
	return list, p.expect(")")
}

func (p *parser) parseValue() (v Value, err error) {
	if p.token.kind != word && p.token.kind != text {
		return v, p.fault(p.token.at, "a value is wanted here")
	}
	v = Value{Text: p.token.text, Quoted: p.token.kind == text}
	return v, p.advance()
}

// token is a word, a text, an operator or a mark.
type token struct {
	kind tokenKind
	text string
	at   int // bytes before it
}

type tokenKind int

const (
	end      tokenKind = iota
	word               // of a field, a value, and, or, in, prefix
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
