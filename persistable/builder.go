// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// builder fills the indexes in the state building, batch by batch.
type builder struct {
	*source
	size  int // maximum number of records in the next batch
	taken int // number of records in the last batch
}

// maxBatchBytes bounds what a batch reads and writes, far below the limit of a
// transaction.
const maxBatchBytes = 1_000_000

// fillBatch fills the indexes from the next records and reports whether none were
// left. If the transaction is too large it tries again with half as many.
func (b *builder) fillBatch(ctx context.Context) (done bool, err error) {
	for {
		done, err = b.tryBatch(ctx)
		if kv.CodeOf(err) != kv.CodeTransactionTooLarge || b.taken < 2 {
			return done, err
		}
		b.size = b.taken / 2
	}
}

// tryBatch is fillBatch with at most b.size records. It halves b.size for each
// attempt that fails, and doubles it after a batch that took one attempt.
func (b *builder) tryBatch(ctx context.Context) (done bool, err error) {
	attempts := 0
	err = b.place.db.transact(ctx, func(t *transaction) error {
		if attempts++; attempts > 1 {
			b.size = max(b.size/2, 1)
		}
		b.taken = 0
		done, err = b.fillNext(ctx, t)
		return err
	})
	if err == nil && attempts == 1 {
		b.size = min(b.size*2, b.place.db.options.BuildBatch)
	}
	return done, err
}

func (b *builder) fillNext(ctx context.Context, t *transaction) (done bool, err error) {
	o, err := t.openStore(ctx, b.place)
	if err != nil || o == nil {
		return true, err
	}
	if i, found := o.firstIn(index.Disabled); found {
		return false, b.place.checkReadable(o, i)
	}
	if _, found := o.firstIn(index.Building); !found {
		return true, nil
	}
	c := cursor{limit: b.size}
	if c.position, err = t.Reader.Get(o.progressKey(b.place)).Get(ctx); err != nil {
		return false, err
	}
	fill := index.NewFill(t.writer, o.indexes)
	if b.taken, err = b.fillFrom(ctx, t, o, &c, fill); err != nil {
		return false, err
	}
	if err := fill.Finish(ctx); err != nil {
		return false, b.record.indexError(err)
	}
	if c.position != nil {
		t.writer.Set(o.progressKey(b.place), c.position)
	}
	return b.taken == 0, nil
}

// fillFrom adds as many records behind the cursor to a batch as fit.
func (b *builder) fillFrom(ctx context.Context, t *transaction, o *openStore, c *cursor, fill *index.Fill) (n int, err error) {
	q := query{source: *b.source, plan: plan{Index: byID, AsIs: true}}
	var set index.Set
	read := 0
	for g, err := range q.recordGroups(ctx, t, o, q.plan, c) {
		if err != nil {
			return n, err
		}
		v, err := q.decodeGroup(g)
		if err != nil {
			return n, err
		}
		if err := b.record.gatherEntries(&set, o, g.ID, v); err != nil {
			return n, err
		}
		fill.Add(&set, g.IndexRecord())
		n++
		if read += g.Size(); read+fill.Size() > maxBatchBytes {
			break
		}
	}
	return n, nil
}
