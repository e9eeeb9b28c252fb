// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"iter"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// records yields the records behind the cursor, within one transaction, and
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

// indexScan is a scan whose first read was started, if it is one of an index.
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
	case s.plan.Union != nil || s.plan.Both != nil:
		s.lanes = q.startLanes(o, t, &s.plan, c)
	case s.plan.Index != byID:
		s.read = q.keyRange(s.plan, scan.EntriesOf(&o.indexes[s.plan.Index]), c)
		s.read.Start(&t.Transaction)
	}
	return s
}

// keyRange returns what is to be read of a plan behind the cursor.
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
	if p.Filter != nil {
		r.Expect = 0 // how many keys must be read is not known
		r.Options.Reverse = q.reverse
		return r
	}
	if c.limit > 0 {
		r.Lacking = func() int { return c.limit }
	}
	r.Options = kv.RangeOptions{Limit: c.limit, Reverse: q.reverse}
	if 0 < c.limit && c.limit <= scan.LargestBatch {
		r.Options.Mode = kv.ModeExact
	}
	return r
}

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

// emit moves the cursor behind a record and yields it, unless the filter drops it. It
// reports whether the query goes on.
func (q *query) emit(f *filter, c *cursor, v any, position []byte, yield func(any, error) bool) bool {
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
	c.moveBehind(position)
	return yield(v, nil) && !c.done
}

// yieldRows yields a batch of entries, each as row, and reports whether the query goes
// on.
func (q *query) yieldRows(ix *index.Index, r *scan.Range, pairs []kv.KeyValue, row *erased.Row, c *cursor, yield func(any, error) bool) bool {
	row.Strings.Expect(sizeOfValues(pairs))
	for _, pair := range pairs {
		row.Values, row.Cover = r.Suffix(pair.Key), pair.Value
		if ix.Unique {
			var err error
			if row.ID, row.Cover, err = index.SplitUnique(ix.Definition, pair.Key, pair.Value); err != nil {
				yield(nil, q.record.indexError(err))
				return false
			}
		}
		c.moveBehind(r.Position(pair.Key))
		if !yield(row, nil) || c.done {
			return false
		}
	}
	return true
}

func sizeOfValues(pairs []kv.KeyValue) (size int) {
	for i := range pairs {
		size += len(pairs[i].Value)
	}
	return size
}

// damagedRow is the error of an entry that cannot be read.
func (q *query) damagedRow(err error) error {
	return q.damagedGroup(q.plan.Index, nil, err)
}

// scanLanes yields the records of a plan of several ranges.
func (q *query) scanLanes(ctx context.Context, t *transaction, o *openStore, begun indexScan, c *cursor, yield func(any, error) bool) {
	s := laneScan{query: q, plan: begun.plan, cursor: c, tx: t, store: o, lanes: begun.lanes, filter: q.newFilter(&begun.plan), window: newRecordWindow()}
	defer s.close()
	if t.Writes != nil {
		s.writes = t.Count.Load()
	}
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

// scanRecords yields the records in the order of their ids.
func (q *query) scanRecords(ctx context.Context, t *transaction, o *openStore, p plan, c *cursor, yield func(any, error) bool) {
	if p.Filter != nil {
		q.filterRecords(ctx, t, o, p, c, yield)
		return
	}
	versions := newVersionScan(ctx, q, t, o, p, c)
	defer versions.stop()
	ahead := *c
	for g, err := range q.recordGroups(ctx, t, o, p, &ahead, versions.readBatch) {
		if err != nil {
			yield(nil, err)
			return
		}
		v, err := q.decodeGroup(g)
		if err == nil {
			err = versions.fill(v)
		}
		if err == nil {
			*c = ahead // another attempt reads a record again whose version this one could not
		}
		if !yield(v, err) || err != nil || c.done {
			return
		}
	}
}

// filterRecords is scanRecords for a plan that drops some.
func (q *query) filterRecords(ctx context.Context, t *transaction, o *openStore, p plan, c *cursor, yield func(any, error) bool) {
	f := q.newFilter(&p)
	all := *c // goes on until the query has enough
	all.limit = 0
	versions := newVersionScan(ctx, q, t, o, p, &all)
	defer versions.stop()
	for g, err := range q.recordGroups(ctx, t, o, p, &all, versions.readBatch) {
		var v any
		if err == nil {
			v, err = q.decodeGroup(g)
		}
		if err == nil {
			err = versions.fill(v)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if !q.emit(&f, c, v, all.position, yield) {
			return
		}
	}
}

func (q *query) decodeGroup(g scan.Group) (any, error) {
	s, err := q.parseGroup(g)
	if err != nil {
		return nil, err
	}
	return q.record.decodeRecord(s, g.ID, g.Key)
}

// parseGroup takes a record apart and checks that it is complete, where it belongs.
func (q *query) parseGroup(g scan.Group) (s format.Record, err error) {
	if g.Astray {
		return s, corrupt(q.record.Type, g.ID, g.Key, "it lies in another shard than that of its id, where Get does not find it")
	}
	if g.Value == nil {
		return s, corrupt(q.record.Type, g.ID, g.Key, "there are further chunks that no header counts")
	}
	if s, err = format.ParseRecord(g.Value); err != nil {
		return s, recordError(q.record.Type, idText(g.ID), g.Key, err)
	}
	if s.Chunks != len(g.Chunks) {
		return s, corrupt(q.record.Type, g.ID, g.Key, "it has %d further chunks, its header says %d", len(g.Chunks), s.Chunks)
	}
	if s.Chunks > 0 {
		s.Payload = g.Join(s.Payload, q.reverse)
	}
	return s, nil
}

// recordGroups yields the records behind the cursor undecoded. It does not pass the
// limit on to the engine, which would count chunks. Before it yields the first of the records
// that it has read together it calls prepare with these, unless that is nil.
func (q *query) recordGroups(ctx context.Context, t *transaction, o *openStore, p plan, c *cursor, prepare func(context.Context, []scan.Group) error) iter.Seq2[scan.Group, error] {
	return func(yield func(scan.Group, error) bool) {
		r := q.keyRange(p, o.records, c)
		r.Options.Limit, r.Options.Mode, r.Records = 0, kv.ModeIterator, true
		var ready []scan.Group
		if r.Lacking != nil {
			r.Lacking = func() int { return c.limit - len(ready) }
		}
		a := scan.Assembler{Range: r}
		emit := func() bool {
			if prepare != nil && len(ready) > 0 {
				if err := prepare(ctx, ready); err != nil {
					yield(scan.Group{}, err)
					return false
				}
			}
			return c.emitAll(&a.Range, ready, yield)
		}
		for pairs, err := range r.Batches(ctx, &t.Transaction) {
			if err == nil {
				ready, err = a.AddBatch(pairs, ready)
			}
			if err != nil {
				if emit() {
					yield(scan.Group{}, q.scanError(err))
				}
				return
			}
			if a.IsOpen() {
				continue // read the rest of the record before the caller can change it
			}
			if !emit() {
				return
			}
			ready = ready[:0]
		}
		if g, left := a.Rest(); left {
			ready = append(ready, g)
		}
		emit()
	}
}

// scanError adds the type to the error of a key that cannot be read.
func (q *query) scanError(err error) error {
	var e *scan.KeyError
	if errors.As(err, &e) {
		return recordError(q.record.Type, "", e.Key, e.Err)
	}
	return err
}
