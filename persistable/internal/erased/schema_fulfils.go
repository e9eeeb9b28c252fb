// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"bytes"
	"slices"

	"github.com/kazahana-db/kazahana/tuple"
)

// FulfilsAny reports whether a record fulfils at least one of some conjunctions. buf
// is room for the values of a field.
func (s *Schema) FulfilsAny(record any, alternatives []Conjunction, buf []byte) bool {
	return slices.ContainsFunc(alternatives, func(c Conjunction) bool { return s.Fulfils(record, c, buf) })
}

// Fulfils reports whether a record fulfils all clauses. A clause on a slice holds if
// it holds of an element; all ranges on one slice must hold of one element.
func (s *Schema) Fulfils(record any, clauses Conjunction, buf []byte) bool {
	for i := range clauses {
		c := &clauses[i]
		if c.Comparison != Equal && slices.ContainsFunc(clauses[:i], c.isRangeBeside) {
			continue // it was looked at together with that range
		}
		buf = s.Values(c.Field, buf[:0], record)
		if !hasElement(buf, func(element []byte) bool { return c.admitsWith(clauses[i:], element) }) {
			return false
		}
	}
	return true
}

// IsLowest reports whether element is the lowest of the elements of a record's slice that
// are in the ranges that clauses give for it.
func (s *Schema) IsLowest(record any, clauses Conjunction, field string, element, buf []byte) bool {
	isLower := func(other []byte) bool {
		return bytes.Compare(other, element) < 0 && clauses.admitRanges(field, other)
	}
	return !hasElement(s.Values(field, buf[:0], record), isLower)
}

// admitRanges reports whether the ranges on a field hold of an element.
func (c Conjunction) admitRanges(field string, element []byte) bool {
	return !slices.ContainsFunc(c, func(l Clause) bool {
		return l.Field == field && l.Comparison != Equal && !l.admits(element)
	})
}

// hasElement reports whether one of the tuple elements of b is as wanted.
func hasElement(b []byte, wanted func(element []byte) bool) bool {
	for len(b) > 0 {
		rest, err := tuple.Skip(b)
		if err != nil {
			return false
		}
		if wanted(b[:len(b)-len(rest)]) {
			return true
		}
		b = rest
	}
	return false
}
