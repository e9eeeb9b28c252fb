// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// filter looks at the records of a plan, and counts the keys that it reads.
type filter struct {
	query        *query
	alternatives []erased.Conjunction // of which each record must fulfil one; nil: it looks at none
	buf          []byte
}

// newFilter returns the filter of a plan.
func (q *query) newFilter(p *plan) filter { return filter{query: q, alternatives: p.Filter} }

// admits reports whether a record is one that the query wants.
func (f *filter) admits(v any) bool {
	if f.alternatives == nil {
		return true
	}
	if f.buf == nil {
		f.buf = make([]byte, 0, 64)
	}
	return f.query.record.FulfilsAny(v, f.alternatives, f.buf)
}

// countKey counts a key that a plan which drops some has read. It returns a
// *[FilterLimitError] if these are too many.
func (q *query) countKey(c *cursor) error {
	c.keys++
	if limit := orDefault(q.filterLimit, DefaultFilterLimit); limit > 0 && c.keys > limit {
		return &FilterLimitError{Type: q.record.Type, Keys: limit, Tag: tagFor(q.wanted)}
	}
	return nil
}

// tagFor returns the marker of the index that serves clauses without a filter; "" if
// they have no fields.
func tagFor(clauses erased.Conjunction) string {
	var equal, ranges []string
	for _, c := range clauses {
		if c.Comparison == erased.Equal {
			equal = appendNew(equal, c.Field)
		}
	}
	for _, c := range clauses {
		if c.Comparison != erased.Equal {
			ranges = appendNew(ranges, c.Field)
		}
	}
	if len(ranges) > 1 {
		ranges = ranges[:1] // no index serves more than one
	}
	fields := equal
	for _, field := range ranges {
		fields = appendNew(fields, field)
	}
	if len(fields) == 0 {
		return ""
	}
	return "_ persistable.Index `persist:\"" + strings.Join(fields, ",") + "\"`"
}

func appendNew(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}
