// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/tuple"
)

// filter looks at the records of a plan.
type filter struct {
	query        *query
	plan         *plan
	alternatives []erased.Conjunction // of which each record must fulfil one; nil: it looks at none
	buf          []byte
}

// newFilter returns the filter of a plan.
func (q *query) newFilter(p *plan) filter { return filter{query: q, plan: p, alternatives: p.Filter} }

// isCounted reports whether a record counts by its entry with the key position, relative to the
// index: of a slice only that of the lowest element in the range does.
func (f *filter) isCounted(v any, position []byte) bool {
	if f.plan == nil || f.plan.Once == "" {
		return true
	}
	if f.buf == nil {
		f.buf = make([]byte, 0, 64)
	}
	return f.query.record.IsLowest(v, f.alternatives[0], f.plan.Once, f.elementOf(position), f.buf)
}

// elementOf returns the slice's element in the key of an entry; nil if it has none.
func (f *filter) elementOf(position []byte) []byte {
	element := position[len(f.plan.Bounds.EqualValues()):]
	rest, err := tuple.Skip(element)
	if err != nil {
		return nil
	}
	element = element[:len(element)-len(rest)]
	if d := &f.query.record.Indexes[f.plan.Index]; slices.Contains(d.Descending, f.plan.Once) {
		if element, _, err = index.ReadDescended(nil, element); err != nil {
			return nil
		}
	}
	return element
}

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

// countRecord counts a record that a plan which drops some has looked at. It returns a
// *[FilterLimitError] if these are too many.
func (q *query) countRecord(n *int) error {
	limit := orDefault(q.filterLimit, DefaultFilterLimit)
	if *n >= limit {
		return &FilterLimitError{Type: q.record.Type, Keys: limit, Tag: tagFor(q.wanted)}
	}
	*n++
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
