// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/erased"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// query is a query that is about to run.
type query struct {
	source
	plan
	search  *erased.Search // how else it can be read; nil: in no other way
	reverse bool
	limit   int
	rows    bool // yield entries, each an *erased.Row
	whole   bool // the caller takes all records, and sets no limit

	from, before []byte // of a part of a scan: its range within the bounds of the plan; nil: no bound

	filterLimit int                // 0: the default value
	wanted      erased.Conjunction // the conditions; nil for those of a method
}

// plan is an index, or the records themselves, and a range of its keys.
type plan = erased.Plan

// byID is the plan's index for the order of ids.
const byID = erased.ByID

// newQuery returns what runs a query. A nil query is one of the zero store.
func newQuery(q *erased.Query) *query {
	if q == nil {
		return &query{}
	}
	spec := q.Spec()
	return &query{
		source: newSource(&spec.Source), plan: spec.Plan, search: spec.Search, reverse: spec.Reverse, limit: spec.Limit,
		filterLimit: spec.FilterLimit, wanted: spec.Wanted, rows: spec.Rows,
	}
}

// yieldAll yields the records. After an error it stops.
func (q *query) yieldAll(ctx context.Context, yield func(any, error) bool) {
	q.yieldAfter(ctx, &cursor{limit: q.limit}, yield)
}

// yieldAfter yields the records after the cursor, which it moves along. After an error
// it stops. It reports whether there are no further records.
func (q *query) yieldAfter(ctx context.Context, c *cursor, yield func(any, error) bool) (ended bool) {
	var err error
	ctx, o := q.begin(ctx, "All", q.plan.Index)
	defer o.finish(&err)
	stopped := false
	goesOn := func() bool { return true }
	err = q.runResumable(ctx, c, goesOn, func(t *transaction) error {
		if stopped {
			return nil // the engine runs another attempt after the caller has stopped
		}
		behind := *c
		for v, err := range q.records(ctx, t, c) {
			if err == nil && ctx.Err() != nil {
				*c, err = behind, context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			behind = *c
			if stopped = !yield(v, nil); stopped {
				return nil
			}
		}
		return nil
	})
	if err != nil && !stopped {
		q.nameEnded(ctx, "All", nil, nil, &err)
		yield(nil, err)
	}
	return c.done || err == nil && !stopped
}

func (q *query) first(ctx context.Context) (first any, err error) {
	ctx, o := q.begin(ctx, "First", q.plan.Index)
	defer o.finish(&err)
	defer q.nameEnded(ctx, "First", nil, nil, &err)
	q.limit = 1
	if _, err := q.collectRecords(ctx, func(v any) { first = v }); err != nil {
		return nil, err
	}
	if first == nil {
		return nil, q.noMatch()
	}
	return first, nil
}

// collectRecords calls take with all records, and with nil when the records before
// must be dropped. It returns the cursor after the last.
func (q *query) collectRecords(ctx context.Context, take func(any)) (end cursor, err error) {
	ctx, o := q.begin(ctx, "Slice", q.plan.Index)
	defer o.finish(&err)
	defer q.nameEnded(ctx, "Slice", nil, nil, &err)
	q.whole = q.limit == 0
	err = q.readOneVersion(ctx, cursor{limit: q.limit}, func() { take(nil) }, func(t *transaction, c *cursor) error {
		for v, err := range q.records(ctx, t, c) {
			if err != nil {
				return err
			}
			take(v)
		}
		end = *c
		return nil
	})
	return end, err
}

// mostOfAge is the age at which a failed attempt has come as far as another could.
const mostOfAge = kv.MaxTransactionAge * 4 / 5

// readOneVersion runs fn so that all that it gathers is of one version: before
// another attempt it calls reset, which drops what was gathered. Only after an
// attempt of mostOfAge it goes on where that one stopped.
func (q *query) readOneVersion(ctx context.Context, from cursor, reset func(), fn func(*transaction, *cursor) error) error {
	c := from
	var began time.Time
	goesOn := func() bool { return !began.IsZero() && time.Since(began) >= mostOfAge }
	return q.runResumable(ctx, &c, goesOn, func(t *transaction) error {
		if !goesOn() {
			reset()
			c = from
		}
		began = time.Now()
		return fn(t, &c)
	})
}

// runResumable is runRead for a function that goes on at a cursor in its next attempt, if goesOn
// says so: an attempt that has moved the cursor is progress, however long it took. After three
// attempts without progress it ends.
func (q *query) runResumable(ctx context.Context, c *cursor, goesOn func() bool, fn func(*transaction) error) error {
	return q.runRead(ctx, func(t *transaction) error {
		before := c.position
		err := fn(t)
		if q.tx == nil && goesOn() && !bytes.Equal(c.position, before) {
			return kv.MarkProgress(err)
		}
		return err
	})
}

// keys yields the keys after the cursor, without fetching records.
func (q *query) keys(ctx context.Context, t *transaction, c *cursor) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		o, err := t.openStore(ctx, q.place)
		if err != nil {
			yield(nil, err)
			return
		}
		if o == nil || c.done {
			return
		}
		p, err := q.choosePlan(o, c)
		if err != nil {
			yield(nil, err)
			return
		}
		if p.Words != nil {
			q.countHits(ctx, t, o, p, c, yield)
			return
		}
		if p.Index == byID {
			for g, err := range q.recordGroups(ctx, t, o, *p, c, nil) {
				if !yield(g.ID, err) || c.done {
					return
				}
			}
			return
		}
		r := q.keyRange(*p, scan.EntriesOf(&o.indexes[p.Index]), c)
		if r.Options.Mode == kv.ModeIterator {
			r.Options.Mode = kv.ModeWantAll
		}
		for pairs, err := range r.Batches(ctx, &t.Transaction) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, pair := range pairs {
				c.movePast(r.Position(pair.Key))
				if !yield(pair.Key, nil) || c.done {
					return
				}
			}
		}
	}
}

// cursor is how far a query has come.
type cursor struct {
	limit    int    // how many more records may come; 0: no limit
	done     bool   // the limit is reached
	position []byte // the last key without prefix and shard; nil at the start
	plan     *plan  // with which the query is read; nil at the start
	looked   int    // how many records a plan that drops some has looked at
}

// movePast moves the cursor past a key.
func (c *cursor) movePast(position []byte) {
	c.position = position
	if c.limit > 0 {
		c.limit--
		c.done = c.limit == 0
	}
}

// emitAll yields records and moves the cursor past each. It reports whether the
// query goes on.
func (c *cursor) emitAll(r *scan.Range, groups []scan.Group, yield func(scan.Group, error) bool) bool {
	for _, g := range groups {
		position := r.Position(g.Key)
		if !r.Options.Reverse {
			position = afterChunks(position)
		}
		c.movePast(position)
		if !yield(g, nil) || c.done {
			return false
		}
	}
	return true
}

func (q *query) noMatch() error {
	return fmt.Errorf("%w: no %s fits the query%s", ErrNotFound, q.record.Type, q.place.inDirectory())
}
