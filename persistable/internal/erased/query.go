// SPDX-License-Identifier: Apache-2.0

package erased

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// Query is a question to an index. It is immutable.
type Query struct{ spec QuerySpec }

// QuerySpec is what a query asks for.
type QuerySpec struct {
	Source
	Plan                // of a query of Find, the best one
	Search      *Search // of Find: how else the records can be read; nil for a query of one plan
	Reverse     bool
	Limit       int
	FilterLimit int         // how many records it may look at to leave some out; 0: the default value
	Wanted      Conjunction // the conditions, for the index that is missing; nil for those of a method
	Rows        bool        // yields entries, each a *[Row], and not records
}

// Plan is a way to read the records of a query: one range of the keys of an index,
// or of the records themselves, or several ranges.
type Plan struct {
	Index  int // into the schema's; ByID
	Bounds index.Bounds
	AsIs   bool // in the order of the keys, which is another one where they are scattered

	Says   Conjunction   // which conditions the range says; of a partial index all of its alternative's
	Filter []Conjunction // of which each record must fulfil one; nil: all records are wanted
	Once   string        // a slice: a record comes only with the lowest of its elements in the range; with Filter
	Both   *Plan         // the records must be in this range, too; both are in the order of ids
	Union  *Union        // the ranges, where there are several; Index and Bounds have no meaning then
	Words  *Words        // the words of a search, each a range of the index; Bounds has no meaning then
}

// Ranges returns the plans of one range each.
func (p *Plan) Ranges() []Plan {
	switch {
	case p.Union != nil:
		return p.Union.Lanes
	case p.Words != nil:
		ranges := make([]Plan, len(p.Words.Of))
		for i := range ranges {
			ranges[i] = Plan{Index: p.Index, Bounds: p.Words.Bounds(i)}
		}
		return ranges
	case p.Both != nil:
		return []Plan{*p, *p.Both}
	}
	return []Plan{*p}
}

// Drops reports whether keys are read of records that the query does not yield,
// though no other lane has them.
func (p *Plan) Drops() bool {
	if p.Union == nil {
		return p.Filter != nil || p.Both != nil || p.Words != nil && p.Words.Phrase
	}
	return slices.ContainsFunc(p.Union.Lanes, func(lane Plan) bool { return lane.Drops() })
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

// NoLimit is the limit that is none.
const NoLimit = math.MaxInt

// Limit returns the query with a limit of n records, from 1; without one for [NoLimit].
func (q *Query) Limit(n int) *Query {
	next := *q
	if next.spec.Limit = next.spec.checkLimit("Limit", n); n == NoLimit {
		next.spec.Limit = 0
	}
	return &next
}

// checkLimit returns n. A query with a limit below 1 fails when it runs: what is left of a
// number that the program counts down may be 0, and must not read or delete everything.
func (s *QuerySpec) checkLimit(method string, n int) int {
	if n < 1 && s.Err == nil {
		s.Err = fmt.Errorf("persistable: a query has %s(%d): the least is 1, and NoLimit takes the limit off", method, n)
	}
	return n
}

// Rows returns the query that yields entries, each a *[Row], and not records.
func (q *Query) Rows() *Query {
	next := *q
	next.spec.Rows = true
	return &next
}

// FilterLimit returns the query with another limit of records that it may look at to
// leave some out, from 1.
func (q *Query) FilterLimit(n int) *Query {
	next := *q
	next.spec.FilterLimit = next.spec.checkLimit("FilterLimit", n)
	return &next
}

// Range is a query with a range on its next field, with values of type F.
type Range[F any] struct {
	query      Query
	encode     func([]byte, F) []byte // nil if the query is of the zero store
	descending bool                   // the next field's values are stored in descending order
}

// NewIndexQuery returns the records of the i-th index with the packed values in
// the first fields.
func NewIndexQuery(s *Source, i int, equal []byte) *Query {
	return &Query{QuerySpec{Source: *s, Plan: Plan{Index: i, Bounds: index.Bounds{}.Equal(equal)}}}
}

// NewRange returns the records of the i-th index with the packed values in the
// first fields, in the order of the next field; encode appends the values of
// that field as tuple elements.
func NewRange[F any](s *Source, i int, equal []byte, encode func([]byte, F) []byte) *Range[F] {
	plan := Plan{Index: i, Bounds: index.Bounds{}.Equal(equal)}
	return &Range[F]{query: Query{QuerySpec{Source: *s, Plan: plan}}, encode: encode}
}

// Descending returns the range for a field with values that are stored in descending
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
	if r.encode == nil {
		return r
	}
	return r.narrow(c, r.encode(nil, v))
}

// WithPrefix returns the range narrowed to the values that begin with a prefix.
func (r *Range[F]) WithPrefix(prefix string) *Range[F] {
	if r.encode == nil {
		return r
	}
	return r.narrow(Prefix, beginning(r.encode, prefix))
}

func (r *Range[F]) narrow(c Comparison, v []byte) *Range[F] {
	next := *r
	bounds := &next.query.spec.Bounds
	if r.descending {
		*bounds = c.NarrowDescending(*bounds, v)
	} else {
		*bounds = c.Narrow(*bounds, v)
	}
	return &next
}

// Row is one entry of an index that copies chosen fields. Its memory, but for the
// strings that were made of Strings, is valid until the query goes on.
type Row struct {
	Values  []byte // packed; those of descending fields as index.Descend left them; after them the id, unless the index is unique
	ID      []byte // packed; of a unique index
	Cover   []byte // a message of the chosen fields
	Strings wire.Strings
}

// ReadString reads a string of the row's key, from b on, and returns what follows it.
func (r *Row) ReadString(b []byte) (v string, rest []byte, err error) {
	text, rest, err := tuple.BorrowString(b)
	if err != nil {
		return "", nil, err
	}
	return r.Strings.CopyRepeated(text), rest, nil
}

// Rows is a query of rows, each made from an entry.
type Rows[R any] struct {
	query *Query
	read  func(*Row) (R, error)
}

// NewRows returns the rows of a query, which read makes from entries.
func NewRows[R any](q *Query, read func(*Row) (R, error)) *Rows[R] {
	return &Rows[R]{q.Rows(), read}
}

// Query returns the query, which yields a *[Row] for each entry.
func (r *Rows[R]) Query() *Query { return r.query }

// Read makes a row from an entry.
func (r *Rows[R]) Read(row *Row) (R, error) { return r.read(row) }

// With returns the rows of another query of the same index.
func (r *Rows[R]) With(q *Query) *Rows[R] { return &Rows[R]{q, r.read} }

// RowRange is a range of rows, each made from an entry.
type RowRange[R, F any] struct {
	over *Range[F]
	read func(*Row) (R, error)
}

// NewRowRange returns the rows of a range, which read makes from entries.
func NewRowRange[R, F any](over *Range[F], read func(*Row) (R, error)) *RowRange[R, F] {
	return &RowRange[R, F]{over.Rows(), read}
}

// Range returns the range, which yields a *[Row] for each entry.
func (r *RowRange[R, F]) Range() *Range[F] { return r.over }

// Rows returns the rows without the type of their range.
func (r *RowRange[R, F]) Rows() *Rows[R] { return &Rows[R]{r.over.Query(), r.read} }

// With returns the rows of another range of the same index.
func (r *RowRange[R, F]) With(over *Range[F]) *RowRange[R, F] {
	return &RowRange[R, F]{over, r.read}
}

// Comparison is how the values of a field compare with a given one.
type Comparison int

// The comparisons.
const (
	Equal Comparison = iota
	From
	After
	To
	Before
	NotEqual // a range of no index; null is not equal to any other value
	Prefix   // the given value begins it: what [PrefixOf] returns
)

// PrefixOf returns what all tuple elements of texts, or of bytes, begin with that begin with
// the one of the element: the element without its end. It is nil for an element of another kind.
func PrefixOf(element []byte) []byte {
	if len(element) == 0 || element[0] != bytesCode && element[0] != textCode {
		return nil
	}
	return element[:len(element)-1]
}

// beginning returns what the elements of values begin with that begin with a prefix.
func beginning[F any](encode func([]byte, F) []byte, prefix string) []byte {
	var v F
	setText(reflect.ValueOf(&v).Elem(), prefix)
	return PrefixOf(encode(nil, v))
}

// setText sets a value of a type of texts or bytes, or a pointer to a text.
func setText(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.ValueOf(&text))
	default:
		v.SetBytes([]byte(text))
	}
}

// The codes of tuple elements with a beginning that is one itself.
const (
	bytesCode = 0x01
	textCode  = 0x02
)

// Narrow narrows bounds to the values of the next field that compare so with
// the packed value v. NotEqual is not one range.
func (c Comparison) Narrow(b index.Bounds, v []byte) index.Bounds {
	switch c {
	case Equal:
		return b.From(v).To(v)
	case From:
		return b.From(v)
	case After:
		return b.After(v)
	case To:
		return b.To(v)
	case Prefix:
		return b.From(v).Before(kv.PrefixRange(v).End)
	default:
		return b.Before(v)
	}
}

// NarrowDescending is Narrow for a field that is stored in descending order;
// v is in ascending order.
func (c Comparison) NarrowDescending(b index.Bounds, v []byte) index.Bounds {
	if c == Prefix {
		return c.Narrow(b, index.DescendPrefix(v))
	}
	v = index.Descend(bytes.Clone(v), 0)
	switch c {
	case From:
		return To.Narrow(b, v)
	case After:
		return Before.Narrow(b, v)
	case To:
		return From.Narrow(b, v)
	case Before:
		return After.Narrow(b, v)
	default:
		return c.Narrow(b, v)
	}
}
