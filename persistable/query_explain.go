// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Explain returns how the query would read now: the first of its plans whose indexes are
// readable, with the bounds of each range, and how many keys and bytes it has. It
// reads the first few kilobytes of each range, and conflicts with nothing there:
// a range that ends within them is counted, a longer one estimated. If all indexes that
// the query needs are being built, it returns the error that the query would. Explaining
// takes one round, and one more if the process does not know the store.
//
//go:noinline
func (q *Query[T]) Explain(ctx context.Context) (*Explanation, error) {
	return newQuery((*erased.Query)(q)).explain(ctx)
}

func (q *query) explain(ctx context.Context) (e *Explanation, err error) {
	ctx, op := q.begin(ctx, "Explain", q.plan.Index)
	defer op.finish(&err)
	err = q.runRead(ctx, func(t *transaction) error {
		o, err := t.openStore(ctx, q.place)
		if err != nil {
			return err
		}
		if o == nil {
			e = q.explainPlan(&q.plan)
			return nil
		}
		p, err := q.choosePlan(o, &cursor{})
		if err != nil {
			return err
		}
		e = q.explainPlan(p)
		return q.estimate(ctx, t, o, p, e)
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// explainPlan returns what is known of a plan without reading.
func (q *query) explainPlan(p *plan) *Explanation {
	e := &Explanation{Type: q.record.Type, Form: formOf(p), Reverse: q.reverse, Limit: q.limit, Rounds: 1, Exact: true}
	for _, one := range p.Ranges() {
		r := q.explainRange(&one)
		e.Ranges = append(e.Ranges, r)
		if r.Fetch {
			e.Rounds = 2
		}
	}
	if p.Both != nil {
		e.Ranges[1].Fetch = false // the first one's entries name the records
		if !e.Ranges[0].Fetch {
			e.Rounds = 1
		}
	}
	if p.Drops() {
		if e.FilterLimit = orDefault(q.filterLimit, DefaultFilterLimit); e.FilterLimit == math.MaxInt {
			e.FilterLimit = 0
		}
	}
	if p.Union == nil || p.Union.Merged {
		e.OrderedBy = q.orderOf(&p.Ranges()[0])
	}
	return e
}

func formOf(p *plan) string {
	switch {
	case p.Both != nil:
		return "an intersection"
	case p.Union == nil:
		return "one range"
	case p.Union.Merged:
		return "lanes, merged"
	}
	return "lanes, one after the other"
}

// definitionOf returns the index of a range; for the records one on the id.
func (q *query) definitionOf(p *plan) *index.Definition {
	if p.Index == byID {
		return &index.Definition{Fields: []string{"id"}}
	}
	return &q.record.Indexes[p.Index]
}

func (q *query) explainRange(p *plan) RangePlan {
	d := q.definitionOf(p)
	r := RangePlan{Index: d.Name, Bounds: d.BoundsText(p.Bounds), Shards: int(d.Scatter), Exact: true}
	r.Fetch = p.Index != byID && !d.Cover && !q.rows
	for _, clauses := range p.Filter {
		r.Filter = append(r.Filter, q.clausesText(clauses))
	}
	return r
}

// orderOf names what the records of a range are ordered by.
func (q *query) orderOf(p *plan) []string {
	d := q.definitionOf(p)
	left := slices.Clone(d.Fields[min(len(d.BoundsText(index.Bounds{}.Equal(p.Bounds.EqualValues()))), len(d.Fields)):])
	for i, field := range left {
		if slices.Contains(d.Descending, field) {
			left[i] += " descending"
		}
	}
	if p.Index != byID && !d.Unique {
		left = append(left, "id")
	}
	return left
}

// clausesText returns conditions as text.
func (q *query) clausesText(clauses erased.Conjunction) string {
	texts := make([]string, len(clauses))
	for i, c := range clauses {
		operator := [...]string{erased.Equal: "=", erased.From: ">=", erased.After: ">", erased.To: "<=", erased.Before: "<", erased.NotEqual: "!="}[c.Comparison]
		texts[i] = c.Field + operator + index.ElementText(c.Value, q.kindOf(c.Field))
	}
	return strings.Join(texts, " and ")
}

// kindOf returns the kind of a field, if an index has it.
func (q *query) kindOf(field string) string {
	for i := range q.record.Indexes {
		d := &q.record.Indexes[i]
		if at, kinds := slices.Index(d.Fields, field), d.Kinds(); 0 <= at && at < len(kinds) {
			return kinds[at]
		}
	}
	return ""
}
