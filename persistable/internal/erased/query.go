// SPDX-License-Identifier: Apache-2.0

package erased

import "github.com/kazahana-db/kazahana/index"

// Query is a question to an index. It is immutable.
type Query struct{ spec QuerySpec }

// QuerySpec is what a query asks for.
type QuerySpec struct {
	Source
	Plan
	Others  []Plan // served if the index of Plan is not readable
	Reverse bool
	Limit   int
	Rows    bool // yields entries, each a *[Row], and not records
}

// Plan is an index, or the records themselves, and a range of its keys.
type Plan struct {
	Index  int // into the schema's; ByID
	Bounds index.Bounds
	AsIs   bool // in the order of the keys, which is another one where they are scattered
}

// ByID is the plan's index for the order of ids.
const ByID = -1

// NewQuery returns the query of a specification.
func NewQuery(spec QuerySpec) *Query { return &Query{spec} }

// Spec returns what the query asks for. It must not be changed.
func (q *Query) Spec() *QuerySpec { return &q.spec }

// Reverse returns the query in the other direction.
func (q *Query) Reverse() *Query {
	next := *q
	next.spec.Reverse = !next.spec.Reverse
	return &next
}

// Limit returns the query with a limit of n records.
func (q *Query) Limit(n int) *Query {
	next := *q
	next.spec.Limit = max(n, 0)
	return &next
}

// Rows returns the query that yields entries, each a *[Row], and not records.
func (q *Query) Rows() *Query {
	next := *q
	next.spec.Rows = true
	return &next
}

// Range is a query with a range on its next field, whose values have type F.
type Range[F any] struct {
	query      Query
	encode     func([]byte, F) []byte // nil if the query is of the zero store
	descending bool                   // the next field's values are stored in descending order
}

// NewIndexQuery returns the records of the i-th index whose first fields have
// the packed values equal.
func NewIndexQuery(s *Source, i int, equal []byte) *Query {
	return &Query{QuerySpec{Source: *s, Plan: Plan{Index: i, Bounds: index.Bounds{}.Equal(equal)}}}
}

// NewRange returns the records of the i-th index whose first fields have the
// packed values equal, in the order of the next field, whose values encode
// appends as tuple elements.
func NewRange[F any](s *Source, i int, equal []byte, encode func([]byte, F) []byte) *Range[F] {
	plan := Plan{Index: i, Bounds: index.Bounds{}.Equal(equal)}
	return &Range[F]{query: Query{QuerySpec{Source: *s, Plan: plan}}, encode: encode}
}

// Descending returns the range for a field whose values are stored in descending
// order.
func (r *Range[F]) Descending() *Range[F] {
	next := *r
	next.descending = true
	return &next
}

// Rows returns the range that yields entries, each a *[Row], and not records.
func (r *Range[F]) Rows() *Range[F] {
	next := *r
	next.query.spec.Rows = true
	return &next
}

// Query returns the query without the type of its range.
func (r *Range[F]) Query() *Query { return &r.query }

// Reverse returns the range in the other direction.
func (r *Range[F]) Reverse() *Range[F] {
	return &Range[F]{*r.query.Reverse(), r.encode, r.descending}
}

// Limit returns the range with a limit of n records.
func (r *Range[F]) Limit(n int) *Range[F] {
	return &Range[F]{*r.query.Limit(n), r.encode, r.descending}
}

// Narrow returns the range narrowed to the values that compare so with v.
func (r *Range[F]) Narrow(c Comparison, v F) *Range[F] {
	next := *r
	bounds := &next.query.spec.Bounds
	switch {
	case r.encode == nil:
	case r.descending:
		*bounds = c.NarrowDescending(*bounds, r.encode(nil, v))
	default:
		*bounds = c.Narrow(*bounds, r.encode(nil, v))
	}
	return &next
}
