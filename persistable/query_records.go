// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"iter"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/persistable/format"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

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
		c.movePast(r.Position(pair.Key))
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

// scanRecords yields the records in the order of their ids.
func (q *query) scanRecords(ctx context.Context, t *transaction, o *openStore, p plan, c *cursor, yield func(any, error) bool) {
	if p.Filter != nil || q.dropsDeleted(&p) {
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
			*c = ahead // not if the version could not be read: another attempt then reads the record again
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

// recordGroups yields the records after the cursor undecoded. Before it yields the first of the records
// that it has read together it calls prepare with these, unless that is nil.
func (q *query) recordGroups(ctx context.Context, t *transaction, o *openStore, p plan, c *cursor, prepare func(context.Context, []scan.Group) error) iter.Seq2[scan.Group, error] {
	return func(yield func(scan.Group, error) bool) {
		r := q.keyRange(p, o.records, c).OfRecords()
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
