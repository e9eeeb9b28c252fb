// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/sentinel"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
	"github.com/kazahana-db/kazahana/tuple"
)

// choosePlan returns the plan of the cursor if it has one, else the best plan with readable
// indexes.
func (q *query) choosePlan(o *openStore, c *cursor) (p *plan, err error) {
	check := func(p *plan) error { return q.checkRanges(o, p) }
	switch {
	case c.plan != nil:
		return c.plan, check(c.plan)
	case q.search != nil:
		p, err = firstPlan(q.record.Indexes, q.search, check)
	default:
		p, err = &q.plan, check(&q.plan)
	}
	if err == nil {
		c.plan = p
	}
	return p, err
}

// checkRanges returns an error unless the indexes of all ranges of a plan are readable.
func (q *query) checkRanges(o *openStore, p *plan) error {
	if p.Union == nil && p.Both == nil {
		return q.checkIndex(o, p)
	}
	for _, one := range p.Ranges() {
		if err := q.checkIndex(o, &one); err != nil {
			return err
		}
	}
	return nil
}

func (q *query) checkIndex(o *openStore, p *plan) error {
	if p.Index == byID {
		return nil
	}
	if q.search == nil { // the plans of a search are of indexes that have the records
		check := q.checkRecords
		if q.rows {
			check = q.checkEntries
		}
		if err := check(p.Index); err != nil {
			return err
		}
	}
	return q.record.checkReadable(o, p.Index)
}

// records yields the records after the cursor, within one transaction, and
// moves the cursor along.
func (q *query) records(ctx context.Context, t *transaction, c *cursor) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		if c.done {
			return
		}
		o, b, err := q.openAndStart(ctx, t, c)
		if err != nil {
			yield(nil, err)
			return
		}
		if o == nil {
			return
		}
		switch p := &b.plan; {
		case p.Words != nil:
			q.scanWords(ctx, t, o, p, c, yield)
		case p.Union != nil || p.Both != nil:
			q.scanLanes(ctx, t, o, b, c, yield)
		case p.Index == byID:
			q.scanRecords(ctx, t, o, b.plan, c, yield)
		default:
			q.scanIndex(ctx, t, o, b, c, yield)
		}
	}
}

// openAndStart opens the store and starts the first read, if it is one of an
// index: at first in the store as last known, and again if the transaction finds
// another one. The store is nil if there is none.
func (q *query) openAndStart(ctx context.Context, t *transaction, c *cursor) (o *openStore, s indexScan, err error) {
	before := c.plan
	known := t.lastKnown(q.place)
	if known != nil {
		s = q.startScan(known, t, c)
	}
	if o, err = t.openStore(ctx, q.place); err != nil || o == nil {
		return nil, s, err
	}
	if o != known {
		c.plan = before
		s = q.startScan(o, t, c)
	}
	return o, s, s.err
}

// indexScan is the scan of a plan. If the plan has an index, the first read has been started.
type indexScan struct {
	plan  plan
	read  scan.Range
	lanes []laneRead // of a plan of several ranges
	err   error      // why no plan can be used
}

// startScan chooses a plan and starts its read.
func (q *query) startScan(o *openStore, t *transaction, c *cursor) (s indexScan) {
	p, err := q.choosePlan(o, c)
	if err != nil {
		return indexScan{err: err}
	}
	s.plan = *p
	switch {
	case s.plan.Words != nil: // in a scan of their own
	case s.plan.Union != nil || s.plan.Both != nil:
		s.lanes = q.startLanes(o, t, &s.plan, c)
	case s.plan.Index != byID:
		s.read = q.keyRange(s.plan, scan.EntriesOf(&o.indexes[s.plan.Index]), c)
		s.read.Start(&t.Transaction)
	}
	return s
}

// keyRange returns what is to be read of a plan after the cursor.
func (q *query) keyRange(p plan, keys scan.Keyspace, c *cursor) scan.Range {
	r := scan.Range{Keyspace: keys, Bounds: p.Bounds, AsIs: p.AsIs, Expect: c.limit}
	if q.from != nil {
		r.Bounds = r.Bounds.StartAt(q.from)
	}
	if q.before != nil {
		r.Bounds = r.Bounds.EndBefore(q.before)
	}
	if c.position != nil {
		r.Bounds = r.Bounds.Resume(c.position, q.reverse)
	}
	r.Options.Reverse = q.reverse
	if q.whole {
		r.Options.Mode = kv.ModeWantAll
	}
	if p.Filter != nil || q.dropsDeleted(&p) {
		r.Expect = 0 // how many keys must be read is not known
		return r
	}
	if c.limit > 0 {
		r.Lacking = func() int { return c.limit }
	}
	r.Options.Limit = c.limit
	if 0 < c.limit && c.limit <= scan.LargestBatch {
		r.Options.Mode = kv.ModeExact
	}
	return r
}

// dropsDeleted reports whether one of the ranges of a plan may have records that the query leaves out
// because they are deleted.
func (q *query) dropsDeleted(p *plan) bool {
	d := q.hidden()
	if d == nil {
		return false
	}
	for _, one := range p.Ranges() {
		if one.Index == byID || !d.IsLeftOut(&q.record.Indexes[one.Index]) {
			return true
		}
	}
	return false
}

// drops reports whether keys are read of records that the query does not yield.
func (q *query) drops(p *plan) bool { return p.Drops() || q.dropsDeleted(p) }

// scanIndex yields the records that the entries of an index name.
func (q *query) scanIndex(ctx context.Context, t *transaction, o *openStore, begun indexScan, c *cursor, yield func(any, error) bool) {
	ix, r, f := &o.indexes[begun.plan.Index], begun.read, q.newFilter(&begun.plan)
	var row *erased.Row
	if q.rows {
		row = new(erased.Row)
	}
	w := newRecordWindow()
	if row == nil {
		r.Window = &w.Window
	}
	for pairs, err := range r.Batches(ctx, &t.Transaction) {
		if err != nil {
			yield(nil, err)
			return
		}
		if row != nil {
			if !q.yieldRows(ix, &r, pairs, row, c, yield) {
				return
			}
			continue
		}
		b := newEntryBatch(q.record, t, o)
		goesOn := q.emitEntries(ctx, b, ix, &r, pairs, &f, c, yield)
		w.note(len(b.taken), b.read)
		if b.release(); !goesOn {
			return
		}
	}
}

// emitEntries fetches the records of a batch of entries, or of the first of these, and yields
// those that the query wants. It reports whether the query goes on.
func (q *query) emitEntries(ctx context.Context, b *entryBatch, ix *index.Index, r *scan.Range, pairs []kv.KeyValue, f *filter, c *cursor, yield func(any, error) bool) bool {
	if err := b.startFetches(ix, pairs); err != nil {
		yield(nil, err)
		return false
	}
	records, err := b.awaitSome(ctx)
	for i, v := range records {
		if !q.emit(f, c, v, r.Position(pairs[i].Key), yield) {
			return false
		}
	}
	if err != nil {
		yield(nil, err)
	}
	return err == nil
}

// emit moves the cursor past a record and yields it, unless the filter drops it. It
// reports whether the query goes on.
func (q *query) emit(f *filter, c *cursor, v any, position []byte, yield func(any, error) bool) bool {
	if q.hides(v) {
		c.position = position
		return true
	}
	if f.alternatives != nil {
		isCounted := f.isCounted(v, position)
		if isCounted {
			if err := q.countRecord(&c.looked); err != nil {
				yield(nil, err)
				return false
			}
		}
		if !isCounted || !f.admits(v) {
			c.position = position
			return true
		}
	}
	c.movePast(position)
	return yield(v, nil) && !c.done
}

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

// countRecord counts a record that a plan which drops some has looked at. It returns an
// [ErrFilterLimit] if these are too many.
func (q *query) countRecord(n *int) error {
	limit := orDefault(q.filterLimit, DefaultFilterLimit)
	if *n >= limit {
		remedy := ":"
		if tag := tagFor(q.record, q.wanted); tag != "" {
			remedy = ": add the index " + tag + ", or"
		}
		return sentinel.Mark(ErrFilterLimit, fmt.Errorf("persistable: %s: the query has looked at %d records and leaves some out in memory%s raise the query's FilterLimit",
			q.record.Type, limit, remedy))
	}
	*n++
	return nil
}

// scanLanes yields the records of a plan of several ranges.
func (q *query) scanLanes(ctx context.Context, t *transaction, o *openStore, begun indexScan, c *cursor, yield func(any, error) bool) {
	s := laneScan{query: q, plan: begun.plan, cursor: c, tx: t, store: o, lanes: begun.lanes, filter: q.newFilter(&begun.plan), window: newRecordWindow(), writes: t.CountWrites()}
	defer s.close()
	for !s.isAtEnd() {
		batch, err := s.takeBatch(ctx)
		if !s.emitBatch(ctx, batch, yield) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
	}
}
