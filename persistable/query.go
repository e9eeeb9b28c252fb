// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// Query is a question to an index: a range of its keys, a direction and a
// limit. It is immutable: every method returns a new one. Nothing is read
// before All, Slice, First, Count or Page.
//
// A query of a store that is not bound to a transaction runs in one of its own
// and sees one version of the database. Only if it takes longer than the five
// seconds that a version can be read, it goes on, behind the last record, in a
// new one; a query bound to a transaction then fails with the engine's error
// 1007.
//
// A query bound to a transaction sees what that has written before the query
// began. What is written while it runs, by the loop over its records for
// example, is not yielded: each record comes at most once for each entry that it
// had when the query began. A record that is changed or deleted meanwhile may
// still come as it was.
//
// Records come in the order of the index; where an index is on a slice
// field, a record comes once for each of its elements in the range.
//
// Cost: one range read and one parallel round of gets for each batch, only the
// range read if the index is covering. If the index, or the type for a scan, is
// scattered over N shards, then N range reads, all in one round; each is asked
// for its share of Limit and some more, which for one query in ten thousand with
// 16 shards, one in two hundred with 256, is too little and takes another round.
type Query[T any] struct {
	source[T]
	plan
	others  []plan // served if the index of plan is not readable
	reverse bool
	limit   int
}

// plan is an index, or the records themselves, and a range of its keys.
type plan struct {
	index  int // into the schema's; byID
	bounds index.Bounds
	asIs   bool // in the order of the keys, which is another one where they are scattered
}

// byID is the plan's index for the order of ids.
const byID = -1

// Equal narrows the query to records whose next fields, in the order of the
// index, have the values, given as tuple elements. It is for generated code.
func (q Query[T]) Equal(values []byte) Query[T] {
	q.bounds = q.bounds.Equal(values)
	return q
}

// Reverse turns the direction around.
func (q Query[T]) Reverse() Query[T] {
	q.reverse = !q.reverse
	return q
}

// Limit lets the query return at most n records; for Page it is the size of a
// page. 0 is no limit.
func (q Query[T]) Limit(n int) Query[T] {
	q.limit = max(n, 0)
	return q
}

// All yields the records. After an error it stops.
func (q Query[T]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		stopped := false
		c := cursor{limit: q.limit}
		err := q.read(ctx, func(t *transaction) error {
			if stopped {
				return nil // the engine asks again, the caller has enough
			}
			for v, err := range q.items(ctx, t, &c) {
				if err == nil && ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				if err != nil {
					return err
				}
				if stopped = !yield(v, nil); stopped {
					return nil
				}
			}
			return nil
		})
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// Slice returns all records.
func (q Query[T]) Slice(ctx context.Context) ([]*T, error) {
	records, _, err := q.collect(ctx, cursor{limit: q.limit})
	return records, err
}

// First returns the first record, or [ErrNotFound].
func (q Query[T]) First(ctx context.Context) (*T, error) {
	records, _, err := q.collect(ctx, cursor{limit: 1})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, q.nothing()
	}
	return records[0], nil
}

// Count returns the number of records. It reads keys only, unless it counts all
// records by id.
func (q Query[T]) Count(ctx context.Context) (int, error) {
	n := 0
	err := q.once(ctx, cursor{limit: q.limit}, func() { n = 0 }, func(t *transaction, c *cursor) error {
		for _, err := range q.keys(ctx, t, c) {
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// collect returns the records behind a cursor and the cursor behind them.
func (q *Query[T]) collect(ctx context.Context, from cursor) (records []*T, end cursor, err error) {
	err = q.once(ctx, from, func() { records = nil }, func(t *transaction, c *cursor) error {
		for v, err := range q.items(ctx, t, c) {
			if err != nil {
				return err
			}
			records = append(records, v)
		}
		end = *c
		return nil
	})
	if err != nil {
		return nil, end, err
	}
	return records, end, nil
}

// mostOfAge is when an attempt that fails is so old that another could not
// come further.
const mostOfAge = kv.MaxTransactionAge * 4 / 5

// once runs fn so that what it gathers is of one version: before another
// attempt, reset drops what was gathered. Only behind an attempt that used up a
// version's age it goes on where that one stopped.
func (q *Query[T]) once(ctx context.Context, from cursor, reset func(), fn func(*transaction, *cursor) error) error {
	c := from
	var began time.Time
	return q.read(ctx, func(t *transaction) error {
		now := time.Now()
		if began.IsZero() || now.Sub(began) < mostOfAge {
			reset()
			c = from
		}
		began = now
		return fn(t, &c)
	})
}
