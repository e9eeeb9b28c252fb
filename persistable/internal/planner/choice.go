// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// choice is one way to serve a conjunction.
type choice struct {
	plan  erased.Plan
	equal int   // how many fields of the index have equality
	used  []int // the clauses that the range of the index says
	rest  int   // how many clauses are left to the filter
}

// useClauses makes the bounds of an index, and returns how many of its fields have a
// clause.
func (c *choice) useClauses(d *index.Definition, clauses erased.Conjunction, id string) (fields int) {
	var values []byte
	for _, field := range d.Fields {
		at := slices.IndexFunc(clauses, func(l erased.Clause) bool { return l.Field == field && l.Comparison == erased.Equal })
		if at < 0 {
			break
		}
		values = appendValue(values, d, c.equal, clauses[at].Value)
		c.used = append(c.used, at)
		c.equal++
	}
	c.plan.Bounds = index.Bounds{}.Equal(values)
	if c.equal == len(d.Fields) {
		if c.equal > 0 && !d.Unique {
			c.useID(clauses, id)
		}
		return c.equal
	}
	for at, l := range clauses {
		if l.Field == d.Fields[c.equal] && l.Comparison != erased.NotEqual {
			c.narrow(d, &l)
			c.used = append(c.used, at)
			fields = 1
		}
	}
	return c.equal + fields
}

// isLane reports whether the choice can be one of several: it is one range of an index.
func (c *choice) isLane() bool { return c.plan.Both == nil && c.plan.Index != erased.ByID }

// useID narrows the bounds, which have equality for all fields, by the clauses on the id.
func (c *choice) useID(clauses erased.Conjunction, id string) {
	for at, l := range clauses {
		if l.Field == id && id != "" && l.Comparison != erased.NotEqual {
			c.plan.Bounds = l.Narrow(c.plan.Bounds, l.Value)
			c.used = append(c.used, at)
		}
	}
}

// narrow narrows the bounds by a range on the field after those with equality.
func (c *choice) narrow(d *index.Definition, l *erased.Clause) {
	if d.IsDescending(c.equal) {
		c.plan.Bounds = l.NarrowDescending(c.plan.Bounds, l.Value)
	} else {
		c.plan.Bounds = l.Narrow(c.plan.Bounds, l.Value)
	}
}

// said returns the clauses that the range says. What else the predicate of a partial index
// says is not known: the records of its range fulfil all clauses, or may be others.
func (c *choice) said(d *index.Definition, clauses erased.Conjunction, hidden *erased.Deletion) (said erased.Conjunction) {
	if !isImplied(d.Where, nil, hidden) {
		return clauses
	}
	for _, at := range c.used {
		said = append(said, clauses[at])
	}
	return said
}

// appendValue appends the value of the i-th field as the index has it.
func appendValue(key []byte, d *index.Definition, i int, value []byte) []byte {
	n := len(key)
	key = append(key, value...)
	if d.IsDescending(i) {
		return index.Descend(key, n)
	}
	return key
}

// equalFields returns how many fields of the index have equality.
func equalFields(p *erased.Plan) (n int) {
	for values := p.Bounds.EqualValues(); len(values) > 0; n++ {
		rest, err := tuple.Skip(values)
		if err != nil {
			break
		}
		values = rest
	}
	return n
}

// isOne reports whether the range has one entry at most.
func isOne(indexes []index.Definition, p *erased.Plan) bool {
	if p.Index == erased.ByID {
		return slices.ContainsFunc(p.Says, func(c erased.Clause) bool { return c.Comparison == erased.Equal })
	}
	d := &indexes[p.Index]
	return d.Unique && len(d.Fields) == equalFields(p)
}

// byID reports whether the range is in the order of ids.
func byID(indexes []index.Definition, p *erased.Plan) bool {
	d := &indexes[p.Index]
	return !d.Unique && len(d.Fields) == equalFields(p)
}

// hasAllRecords reports whether an index with clauses for its first n fields has all
// records, each once, that fulfil the clauses: none may be missing because of a null or
// an empty slice.
func hasAllRecords(d *index.Definition, n int, clauses erased.Conjunction) bool {
	for i, field := range d.Fields {
		switch {
		case isSlice(d, i):
			if i >= n {
				return false
			}
		case slices.Contains(d.Sparse, field):
			if !slices.ContainsFunc(clauses, func(c erased.Clause) bool { return c.Field == field && excludesNull(&c) }) {
				return false
			}
		}
	}
	return true
}

// excludesNull reports whether null does not fulfil a clause.
func excludesNull(c *erased.Clause) bool {
	switch c.Comparison {
	case erased.Equal, erased.From:
		return !tuple.IsNil(c.Value)
	case erased.After, erased.Prefix:
		return true
	}
	return false // null sorts first
}

// wantsNull reports whether a field must be null.
func wantsNull(c erased.Clause) bool { return c.Comparison == erased.Equal && tuple.IsNil(c.Value) }

// isSlice reports whether the i-th field of an index is a slice.
func isSlice(d *index.Definition, i int) bool {
	kinds := d.Kinds()
	return i < len(kinds) && strings.HasPrefix(kinds[i], "[]")
}

// isImplied reports whether every record that fulfils clauses fulfils the predicate of
// a partial index, so that the index has it. It recognizes the comparisons of a field
// with integers, strings, true, false, null and the zero time; of all others it reports false.
// Records that are hidden count as none.
func isImplied(predicate string, clauses erased.Conjunction, hidden *erased.Deletion) bool {
	for predicate != "" {
		p, rest, ok := cutComparison(predicate)
		isPresence := hidden != nil && slices.Contains(hidden.Present(), p.field+p.operator+p.constant)
		if !ok || !isPresence && !slices.ContainsFunc(clauses, p.isImpliedBy) {
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
	if l.Comparison == erased.Prefix {
		return c.isImpliedByPrefix(l.Value, constant)
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

// isImpliedByPrefix reports whether all values with a prefix fulfil the comparison with a
// constant: one without the prefix is below all of them, or above.
func (c *comparison) isImpliedByPrefix(prefix, constant []byte) bool {
	if bytes.HasPrefix(constant, prefix) {
		return c.operator == ">=" && len(constant) == len(prefix)+1 // the prefix itself, which is the first
	}
	order := bytes.Compare(prefix, constant)
	switch c.operator {
	case "!=":
		return true
	case ">", ">=":
		return order > 0
	case "<", "<=":
		return order < 0
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
	case c.constant == "zero":
		_, _, err := index.ReadTime(value)
		return index.AppendTime(nil, time.Time{}), err == nil
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
