// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Explanation tells how a query reads: see [Query.Explain].
type Explanation struct {
	Type string
	// Form is how the ranges are read: "one range", "an intersection", "lanes, merged"
	// or "lanes, one after the other"; of a search "all of some words", "any of some words" or "a phrase".
	Form   string
	Ranges []RangePlan
	// OrderedBy names the fields after those with equality, then "id"; it is empty
	// for lanes that come one after the other.
	OrderedBy []string
	Reverse   bool
	Limit     int // 0: no limit
	// FilterLimit is how many records the query may look at if it leaves some out in
	// memory; 0 if it leaves out none, or if there is no limit.
	FilterLimit int
	// Rounds is how many rounds of reads the first batch takes, besides those that
	// open a store that the process does not know yet.
	Rounds int
	// Count names the Count index from which [Query.Count] reads the number of records; it
	// is empty if Count counts the keys of the ranges, or the records.
	Count string
	// Keys and Bytes are the sums of those of the ranges, Exact if all were counted.
	Keys, Bytes int64
	Exact       bool
}

// String returns the plan with the estimated keys, in a line for each range.
func (e *Explanation) String() string {
	return e.text("; "+keysText(e.Keys, e.Exact), (*RangePlan).String)
}

// Plan returns the text without the estimates, so that it is the same for the same plan.
func (e *Explanation) Plan() string { return e.text("", (*RangePlan).plan) }

func (e *Explanation) text(keys string, textOf func(*RangePlan) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Type, e.Form)
	if len(e.OrderedBy) > 0 {
		fmt.Fprintf(&b, ", ordered by %s", strings.Join(e.OrderedBy, ", "))
	}
	if e.Reverse {
		b.WriteString(", in reverse")
	}
	if e.Limit > 0 {
		fmt.Fprintf(&b, ", at most %d records", e.Limit)
	}
	fmt.Fprintf(&b, "; rounds: %d", e.Rounds)
	if e.FilterLimit > 0 {
		fmt.Fprintf(&b, "; looks at %d records at most", e.FilterLimit)
	}
	if e.Count != "" {
		fmt.Fprintf(&b, "; Count reads the index %s", e.Count)
	}
	b.WriteString(keys)
	for i := range e.Ranges {
		b.WriteString("\n  " + textOf(&e.Ranges[i]))
	}
	return b.String()
}

// RangePlan is one range that a query reads. In a transaction that writes, the
// query conflicts with changes of the keys within it, as far as it has read, and of the
// records that it has fetched.
type RangePlan struct {
	Index  string   // its name; "" for the records themselves
	Bounds []string // what the keys in the range say, as "Status=1"; nil: the whole index
	// Filter is what each record is looked at for, in memory: alternatives of
	// conditions, each as "Status=1 and Amount>=20"; nil: nothing.
	Filter []string
	Shards int  // 0: not scattered
	Fetch  bool // the records are fetched, one get for each entry
	// Keys and Bytes are how many keys the range has, and the size of these and their
	// values: entries of an index, or records and their further chunks, whatever the
	// query's limit and filter. Exact says that they were counted, because the range is
	// small. Otherwise Bytes is the estimate of the engine, which is rough below some
	// megabytes, and Keys follows from it by the mean size of the range's first pairs;
	// both are at least those of the pairs that were read.
	Keys, Bytes int64
	Exact       bool
}

// String returns the range in one line.
func (r *RangePlan) String() string {
	return r.plan() + "; " + keysText(r.Keys, r.Exact)
}

func keysText(n int64, exact bool) string {
	switch {
	case exact && n == 1:
		return "1 key"
	case exact:
		return fmt.Sprintf("%d keys", n)
	}
	return fmt.Sprintf("about %d keys", n)
}

// plan returns the range without the estimate.
func (r *RangePlan) plan() string {
	text := "records"
	if r.Index != "" {
		text = "index " + r.Index
	}
	if len(r.Bounds) > 0 {
		text += ": " + strings.Join(r.Bounds, ", ")
	}
	if r.Filter != nil {
		text += "; filter: " + strings.Join(r.Filter, " or ")
	}
	if r.Shards > 0 {
		text += fmt.Sprintf("; %d shards", r.Shards)
	}
	if r.Fetch {
		text += "; fetches records"
	}
	return text
}

// explain returns how a query would read now.
func explain(ctx context.Context, q *erased.Query) (*Explanation, error) {
	return explainer{newQuery(q)}.explain(ctx)
}

// explainer explains a query.
type explainer struct{ *query }

func (q explainer) explain(ctx context.Context) (e *Explanation, err error) {
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
		e.Count = q.countedBy(o)
		return q.estimate(ctx, t, o, p, e)
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// countedBy names the indexes from which Count reads the number.
func (q explainer) countedBy(o *openStore) string {
	groups := q.countGroups()
	if groups == nil || !areReadable(o, groups) {
		return ""
	}
	var names []string
	for _, g := range groups {
		names = appendNew(names, q.record.Indexes[g.Index].Name)
	}
	return strings.Join(names, ", ")
}

// explainPlan returns what is known of a plan without reading.
func (q explainer) explainPlan(p *plan) *Explanation {
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
		if e.FilterLimit = orDefault(q.filterLimit, DefaultFilterLimit); e.FilterLimit == NoLimit {
			e.FilterLimit = 0
		}
	}
	switch {
	case p.Words != nil:
		e.OrderedBy = []string{"matches descending", "id"}
	case p.Union == nil || p.Union.Merged:
		e.OrderedBy = q.orderOf(&p.Ranges()[0])
	}
	return e
}

func formOf(p *plan) string {
	switch {
	case p.Both != nil:
		return "an intersection"
	case p.Words != nil && p.Words.Any:
		return "any of some words"
	case p.Words != nil && p.Words.Phrase:
		return "a phrase"
	case p.Words != nil:
		return "all of some words"
	case p.Union == nil:
		return "one range"
	case p.Union.Merged:
		return "lanes, merged"
	}
	return "lanes, one after the other"
}

// definitionOf returns the index of a range; for the records one on the id.
func (q explainer) definitionOf(p *plan) *index.Definition {
	if p.Index == byID {
		return &index.Definition{Fields: []string{"id"}}
	}
	return &q.record.Indexes[p.Index]
}

func (q explainer) explainRange(p *plan) RangePlan {
	d := q.definitionOf(p)
	r := RangePlan{Index: d.Name, Bounds: d.BoundsText(p.Bounds), Shards: int(d.Scatter), Exact: true}
	r.Fetch = p.Index != byID && !d.Cover && !q.rows
	for _, clauses := range p.Filter {
		r.Filter = append(r.Filter, q.clausesText(clauses))
	}
	if one := (plan{Index: p.Index}); q.dropsDeleted(&one) {
		r.Filter = q.andPresent(r.Filter)
	}
	return r
}

// andPresent adds to alternatives that the record is not deleted.
func (q explainer) andPresent(alternatives []string) (all []string) {
	text := q.record.Deletion.Field + " not set"
	if len(alternatives) == 0 {
		return []string{text}
	}
	for _, one := range alternatives {
		all = append(all, one+" and "+text)
	}
	return all
}

// orderOf names what the records of a range are ordered by.
func (q explainer) orderOf(p *plan) []string {
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
func (q explainer) clausesText(clauses erased.Conjunction) string {
	texts := make([]string, len(clauses))
	for i, c := range clauses {
		operator := [...]string{erased.Equal: "=", erased.From: ">=", erased.After: ">", erased.To: "<=", erased.Before: "<", erased.NotEqual: "!=", erased.Prefix: " prefix "}[c.Comparison]
		value := c.Value
		if c.Comparison == erased.Prefix {
			value = append(slices.Clone(value), 0) // its end
		}
		texts[i] = c.Field + operator + index.ElementText(value, q.kindOf(c.Field))
	}
	return strings.Join(texts, " and ")
}

// kindOf returns the kind of a field, also of one in a nested struct.
func (q explainer) kindOf(path string) string {
	lock, err := q.record.Parsed()
	if err != nil {
		return ""
	}
	in, kind := lock.Type(), ""
	for name := range strings.SplitSeq(path, ".") {
		if in == nil {
			return ""
		}
		f := in.Field(name)
		if f == nil {
			return ""
		}
		in, kind = lock.Message(f), f.Kind
	}
	return kind
}

// estimate fills in the keys and bytes of all ranges. It starts all of its reads at once.
func (q explainer) estimate(ctx context.Context, t *transaction, o *openStore, p *plan, e *Explanation) error {
	reader := t.Reader
	if !t.isReadOnly() {
		reader = t.snapshot().Reader
	}
	var asked []rangeEstimate
	for i, one := range p.Ranges() {
		keys := o.keysOf(&one)
		e.Ranges[i].Shards = int(keys.Shards)
		asked = append(asked, newRangeEstimate(reader, keys.RangesOf(one.Bounds)))
	}
	for i := range asked {
		r := &e.Ranges[i]
		if err := asked[i].await(ctx, r); err != nil {
			return err
		}
		e.Keys, e.Bytes, e.Exact = e.Keys+r.Keys, e.Bytes+r.Bytes, e.Exact && r.Exact
	}
	return nil
}

// rangeEstimate asks how many keys and bytes a range has: the engine's estimate of the
// bytes, and the first pairs. Where these are not all, their mean size tells
// how many keys have so many bytes.
type rangeEstimate struct {
	sizes  []kv.Future[int64] // of each shard
	firsts []kv.RangeResult
	enough int64 // how many bytes of each shard to read; less than a batch has, of which engines count more

	keys, bytes int64 // of the first pairs
	more        bool  // there are others after them
}

// newRangeEstimate starts the reads. ranges are the range in each of its shards.
func newRangeEstimate(tx kv.ReadTransaction, ranges []kv.KeyRange) (e rangeEstimate) {
	o := kv.RangeOptions{Mode: kv.ModeLarge}
	e.enough = 2048
	if len(ranges) > 16 {
		o.Mode, e.enough = kv.ModeSmall, 128
	}
	for _, r := range ranges {
		e.sizes = append(e.sizes, tx.GetEstimatedRangeSizeBytes(r))
		e.firsts = append(e.firsts, tx.GetRange(r.Selectors(), o))
	}
	return e
}

// await writes the result to a plan.
func (e *rangeEstimate) await(ctx context.Context, r *RangePlan) error {
	size := int64(0)
	for i := range e.sizes {
		n, err := e.sizes[i].Get(ctx)
		if err != nil {
			return err
		}
		size += n
		if err := e.countFirst(ctx, e.firsts[i]); err != nil {
			return err
		}
	}
	r.Keys, r.Bytes, r.Exact = e.keys, e.bytes, !e.more
	if e.more && size > e.bytes {
		r.Keys, r.Bytes = int64(float64(size)/float64(e.bytes)*float64(e.keys)+0.5), size
	}
	return nil
}

// countFirst counts the first pairs of a read. One batch is enough, unless the engine
// makes smaller ones than its streaming mode says.
func (e *rangeEstimate) countFirst(ctx context.Context, first kv.RangeResult) error {
	before := e.bytes
	for batch, err := range first.Batches(ctx) {
		if err != nil {
			return err
		}
		for _, pair := range batch.KVs {
			e.keys, e.bytes = e.keys+1, e.bytes+int64(len(pair.Key)+len(pair.Value))
		}
		if e.bytes-before >= e.enough {
			e.more = e.more || batch.More
			break
		}
	}
	return nil
}
