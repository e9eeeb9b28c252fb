// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Where is the condition of a partial index: comparisons that must all hold.
type Where struct {
	Comparisons []Comparison
	Offset      int // of the option in the tag's literal
}

// Comparison is one comparison of a condition, as it is written.
type Comparison struct {
	Field    FieldName
	Operator string // one of = != < <= > >=, or "" for a bool that stands alone
	Not      bool   // "not" stands before the bool

	Operand       string // as it is written; of a string in quotes, its value
	Quoted        bool
	OperandOffset int
}

// operators are the valid ones; the values are remedies of others that are common.
var operators = map[string]string{
	"=": "", "!=": "", "<": "", "<=": "", ">": "", ">=": "",
	"==": "write = for equality", "<>": "write != for inequality", "=>": "write >=", "=<": "write <=",
}

// conjunctions are words of other languages, with the remedy.
var conjunctions = map[string]string{
	"&&": "write and between comparisons", "&": "write and between comparisons", "+": "write and between comparisons",
	"||": eitherRemedy, "|": eitherRemedy, "or": eitherRemedy,
}

const eitherRemedy = "a condition has no or; make an index for each side"

// parseWhere reads the option where.
func parseWhere(w word) (c Where, found []Fault) {
	c.Offset = w.Offset
	p := conditionParser{}
	p.scan(w.value, w.valueOffsets())
	for len(p.faults) == 0 && len(p.tokens) > 0 {
		c.Comparisons = append(c.Comparisons, p.parseComparison())
	}
	if len(p.faults) == 0 && len(c.Comparisons) == 0 {
		p.bad(w.valueOffset(), "the condition is empty; write a comparison, such as where=Status=Paid")
	}
	return c, p.faults
}

// conditionParser reads comparisons, each up to its fault.
type conditionParser struct {
	tokens []conditionToken
	end    int // offset of the end of the condition
	faults []Fault
}

func (p *conditionParser) bad(at int, format string, args ...any) {
	p.faults = append(p.faults, Fault{at, fmt.Sprintf(format, args...)})
}

// next takes the next token. After the last one it returns a token without a kind.
func (p *conditionParser) next() conditionToken {
	t := p.peek()
	p.tokens = p.tokens[min(1, len(p.tokens)):]
	return t
}

func (p *conditionParser) peek() conditionToken {
	if len(p.tokens) == 0 {
		return conditionToken{offset: p.end}
	}
	return p.tokens[0]
}

// parseComparison reads one comparison and the "and" after it.
func (p *conditionParser) parseComparison() (c Comparison) {
	name := p.next()
	if name.is("not") && p.peek().kind == wordToken {
		c.Not, name = true, p.next()
	}
	c.Field = FieldName{Text: name.text, Offset: name.offset}
	if name.kind != wordToken {
		p.bad(name.offset, "a comparison begins with a field; write Field=value, Field or not Field, with and between")
		return c
	}
	if p.peek().kind == operatorToken {
		p.parseOperand(&c)
	}
	p.parseConjunction()
	return c
}

// parseOperand reads an operator and its operand.
func (p *conditionParser) parseOperand(c *Comparison) {
	operator := p.next()
	remedy, known := operators[operator.text]
	switch {
	case !known:
		p.bad(operator.offset, "%s is not a comparison; use = != < <= > >=", operator.text)
	case remedy != "":
		p.bad(operator.offset, "%s", remedy)
	case c.Not:
		p.bad(operator.offset, "not stands before a bool alone; here write the opposite comparison")
	}
	value := p.next()
	if value.kind == endToken || value.kind == operatorToken || value.is("and") {
		p.bad(value.offset, "%s%s: the value is missing; write a literal, a constant or null", c.Field.Text, operator.text)
	}
	c.Operator, c.Operand, c.Quoted, c.OperandOffset = operator.text, value.text, value.kind == stringToken, value.offset
}

// parseConjunction reads the "and" between two comparisons.
func (p *conditionParser) parseConjunction() {
	if len(p.faults) > 0 || len(p.tokens) == 0 {
		return
	}
	t := p.next()
	switch remedy, known := conjunctions[strings.ToLower(t.text)]; {
	case t.is("and") && len(p.tokens) == 0:
		p.bad(t.offset, "the comparison after and is missing")
	case t.is("and"):
	case t.kind != stringToken && known:
		p.bad(t.offset, "%s", remedy)
	case t.kind == wordToken && strings.EqualFold(t.text, "and"):
		p.bad(t.offset, "write and in lower case")
	default:
		p.bad(t.offset, "%q follows a comparison; write and between comparisons%s", t.text, quoteRemedy(t))
	}
}

// quoteRemedy guesses that words with spaces were meant as a string.
func quoteRemedy(t conditionToken) string {
	if t.kind == wordToken && !slices.Contains([]string{"not", "null"}, t.text) {
		return ", and a string in single quotes"
	}
	return ""
}

// conditionToken is a word, an operator or a string of a condition.
type conditionToken struct {
	kind   tokenKind
	text   string // of a string, its value
	offset int    // in the tag's literal
}

type tokenKind int

const (
	endToken tokenKind = iota
	wordToken
	operatorToken
	stringToken
)

// is reports whether the token is that word.
func (t conditionToken) is(text string) bool { return t.kind == wordToken && t.text == text }

const operatorBytes = "=!<>"

// scan splits a condition into tokens.
func (p *conditionParser) scan(text string, offsets []int) {
	p.end = offsets[len(text)]
	for i := 0; i < len(text); {
		n, t := 1, conditionToken{offset: offsets[i]}
		switch ch := text[i]; {
		case ch == ' ' || ch == '\t':
			i++
			continue
		case ch == '"' || ch == '\'':
			value, size, ok := scanString(text[i:])
			if !ok {
				p.bad(t.offset, "the string is not closed, or has an escape that Go does not have")
				return
			}
			n, t.kind, t.text = size, stringToken, value
		case strings.IndexByte(operatorBytes, ch) >= 0:
			n = prefixLength(text[i:], func(ch byte) bool { return strings.IndexByte(operatorBytes, ch) >= 0 })
			t.kind, t.text = operatorToken, text[i:i+n]
		default:
			n = prefixLength(text[i:], func(ch byte) bool { return strings.IndexByte(operatorBytes+" \t\"'", ch) < 0 })
			t.kind, t.text = wordToken, text[i:i+n]
		}
		p.tokens = append(p.tokens, t)
		i += n
	}
}

// prefixLength is how many of the first bytes belong.
func prefixLength(text string, belongs func(byte) bool) int {
	for i := range len(text) {
		if !belongs(text[i]) {
			return i
		}
	}
	return len(text)
}

// scanString reads a string in single or double quotes, with the escapes of Go.
func scanString(text string) (value string, size int, ok bool) {
	quote, rest := text[0], text[1:]
	var b strings.Builder
	for rest != "" && rest[0] != quote {
		r, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return "", 0, false
		}
		if r < 0x80 || multibyte {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		rest = tail
	}
	if rest == "" {
		return "", 0, false
	}
	return b.String(), len(text) - len(rest) + 1, true
}
