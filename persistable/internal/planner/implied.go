// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// isImplied reports whether every record that fulfils clauses fulfils the predicate of
// a partial index, so that the index has it. It recognizes the comparisons of a field
// with integers, strings, true, false and null; of all others it reports false.
func isImplied(predicate string, clauses erased.Conjunction) bool {
	for predicate != "" {
		p, rest, ok := cutComparison(predicate)
		if !ok || !slices.ContainsFunc(clauses, p.isImpliedBy) {
			return false
		}
		predicate = rest
	}
	return true
}

// comparison is one comparison of the canonical text of a predicate.
type comparison struct{ field, operator, constant string }

// operators are those of comparisons; one that begins with another comes first.
var operators = []string{"!=", "<=", ">=", "=", "<", ">"}

// cutComparison takes the first comparison off a predicate.
func cutComparison(text string) (c comparison, rest string, ok bool) {
	at := strings.IndexAny(text, "=!<>")
	if at < 1 {
		return c, "", false
	}
	c.field, rest = text[:at], text[at:]
	for _, operator := range operators {
		if strings.HasPrefix(rest, operator) {
			c.operator, rest = operator, rest[len(operator):]
			break
		}
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		c.constant, rest = quoted, rest[len(quoted):]
	} else {
		at := strings.IndexByte(rest+" ", ' ')
		c.constant, rest = rest[:at], rest[at:]
	}
	return c, strings.TrimPrefix(rest, " and "), c.operator != "" && c.constant != ""
}

// isImpliedBy reports whether all values that a clause allows fulfil the comparison.
func (c *comparison) isImpliedBy(l erased.Clause) bool {
	if l.Field != c.field {
		return false
	}
	constant, ok := c.element(l.Value)
	if !ok {
		return false
	}
	order := bytes.Compare(l.Value, constant)
	switch c.operator {
	case "=":
		return l.Comparison == erased.Equal && order == 0
	case "!=":
		return l.Comparison == erased.Equal && order != 0 || isAbove(l.Comparison, order)
	case ">":
		return l.Comparison == erased.Equal && order > 0 || isAbove(l.Comparison, order)
	case ">=":
		return l.Comparison == erased.Equal && order >= 0 || isAbove(l.Comparison, order) || l.Comparison == erased.From && order == 0
	case "<":
		return l.Comparison == erased.Equal && order < 0 // a range below has null, too
	case "<=":
		return l.Comparison == erased.Equal && order <= 0
	}
	return false
}

// isAbove reports whether all values of a range are above the constant, if its bound
// compares so with that.
func isAbove(c erased.Comparison, order int) bool {
	return c == erased.From && order > 0 || c == erased.After && order >= 0
}

// says reports whether the comparison holds exactly of the values that a clause allows.
func (c *comparison) says(l *erased.Clause) bool {
	if l.Field != c.field {
		return false
	}
	constant, ok := c.element(l.Value)
	if !ok || !bytes.Equal(constant, l.Value) {
		return false
	}
	switch l.Comparison {
	case erased.Equal:
		return c.operator == "="
	case erased.After:
		return c.operator == ">"
	case erased.From:
		return c.operator == ">="
	}
	return false
}

// isSaid reports whether a predicate has a comparison that says what a clause does.
func isSaid(predicate string, l *erased.Clause) bool {
	for predicate != "" {
		c, rest, ok := cutComparison(predicate)
		if !ok {
			return false
		}
		if c.says(l) {
			return true
		}
		predicate = rest
	}
	return false
}

// element returns the constant as a tuple element, if it is of the kind of a value. No
// constant but null is of the kind of null, which fulfils no comparison with it.
func (c *comparison) element(value []byte) (element []byte, ok bool) {
	switch {
	case c.constant == "null":
		return tuple.AppendNil(nil), c.operator == "=" || c.operator == "!="
	case c.constant == "true" || c.constant == "false":
		_, _, err := tuple.ReadBool(value)
		return tuple.AppendBool(nil, c.constant == "true"), err == nil
	case strings.HasPrefix(c.constant, `"`):
		text, err := strconv.Unquote(c.constant)
		return tuple.AppendString(nil, text), err == nil && isKind(value, tuple.AppendString(nil, ""))
	}
	if n, err := strconv.ParseInt(c.constant, 10, 64); err == nil {
		element = tuple.AppendInt(nil, n)
	} else if n, err := strconv.ParseUint(c.constant, 10, 64); err == nil {
		element = tuple.AppendUint(nil, n)
	}
	_, _, err := tuple.ReadInt(value)
	_, _, errUint := tuple.ReadUint(value)
	return element, element != nil && (err == nil || errUint == nil)
}

// isKind reports whether two elements begin with the same type code.
func isKind(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && a[0] == b[0] }
