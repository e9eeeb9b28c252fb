// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"fmt"
	"slices"
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
	end    int // offset behind the condition
	faults []Fault
}

func (p *conditionParser) bad(at int, format string, args ...any) {
	p.faults = append(p.faults, Fault{at, fmt.Sprintf(format, args...)})
}

// next takes the next token; there is one of no kind behind the last.
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

// parseComparison reads one comparison and the "and" behind it.
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

// parseOperand reads an operator and what is behind it.
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
		p.bad(t.offset, "the comparison behind and is missing")
	case t.is("and"):
	case t.kind != stringToken && known:
		p.bad(t.offset, "%s", remedy)
	case t.kind == wordToken && strings.EqualFold(t.text, "and"):
		p.bad(t.offset, "write and in lower case")
	default:
		p.bad(t.offset, "%q stands behind a comparison; write and between comparisons%s", t.text, quoteRemedy(t))
	}
}

// quoteRemedy guesses that words with spaces were meant as a string.
func quoteRemedy(t conditionToken) string {
	if t.kind == wordToken && !slices.Contains([]string{"not", "null"}, t.text) {
		return ", and a string in single quotes"
	}
	return ""
}
