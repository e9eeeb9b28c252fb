// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
)

// buildIndexes completes the indexes that are not readable.
func (s source) buildIndexes(ctx context.Context) error {
	if err := s.mayBuild(); err != nil {
		return err
	}
	// An older program that does not know an index can disable it meanwhile.
	for range 3 {
		err := s.build(ctx)
		var state *IndexStateError
		if !errors.As(err, &state) {
			return err
		}
	}
	return fmt.Errorf("persistable: %s: programs that do not know all indexes keep writing: update them first", s.record.Type)
}

func (s *source) mayBuild() error {
	switch err := s.usable(); {
	case err != nil:
		return err
	case s.tx != nil:
		return fmt.Errorf("persistable: %s: indexes are built and verified in transactions of their own: use a store that is not bound to one", s.record.Type)
	}
	return nil
}

// changeState sets the state of the indexes that which picks.
func (s *source) changeState(ctx context.Context, t *transaction, to index.State, which func(int, index.State) bool) error {
	o, err := t.openStoreToWrite(ctx, s.place)
	if err != nil || o == nil {
		return err
	}
	next := o.catalog.Clone()
	for i := range o.indexes {
		if ix := &o.indexes[i]; which(i, ix.State) {
			if to == index.Building {
				ix.Clear(t.writer)
			}
			next.SetState(ix.Definition, to)
		}
	}
	if next.Equal(o.catalog) {
		return nil
	}
	t.writer.Clear(o.progressKey(s.place))
	return t.changeCatalog(ctx, s.place, o, next)
}

// build brings disabled indexes to the state building, fills those in that
// state, and makes them readable.
func (s *source) build(ctx context.Context) error {
	err := s.place.db.transact(ctx, func(t *transaction) error {
		return s.changeState(ctx, t, index.Building, func(_ int, is index.State) bool { return is == index.Disabled })
	})
	if err != nil {
		return err
	}
	b := builder{source: s, size: s.place.db.options.BuildBatch}
	for done := false; !done; {
		if done, err = b.batch(ctx); err != nil {
			return err
		}
	}
	return s.finish(ctx)
}

// builder fills indexes batch by batch.
type builder struct {
	*source
	size  int // records of the next batch, at most
	taken int // records of the last batch
}

// maxBatchBytes bounds what a batch reads and writes, far below the limit of a
// transaction.
const maxBatchBytes = 1_000_000

// batch fills the indexes from the next records and reports whether there were
// none left. Where a transaction turns out too large, it takes half as many.
func (b *builder) batch(ctx context.Context) (done bool, err error) {
	for {
		done, err = b.tryBatch(ctx)
		if kv.CodeOf(err) != kv.CodeTransactionTooLarge || b.taken < 2 {
			return done, err
		}
		b.size = b.taken / 2
	}
}

// tryBatch is batch with transactions of the next size. Batches shrink where
// transactions fail, and grow again.
func (b *builder) tryBatch(ctx context.Context) (done bool, err error) {
	attempts := 0
	err = b.place.db.transact(ctx, func(t *transaction) error {
		if attempts++; attempts > 1 {
			b.size = max(b.size/2, 1)
		}
		b.taken = 0
		done, err = b.fill(ctx, t)
		return err
	})
	if err == nil && attempts == 1 {
		b.size = min(b.size*2, b.place.db.options.BuildBatch)
	}
	return done, err
}

func (b *builder) fill(ctx context.Context, t *transaction) (done bool, err error) {
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

// fillFrom adds the records behind the cursor to a batch, as many as fit.
func (b *builder) fillFrom(ctx context.Context, t *transaction, o *openStore, c *cursor, fill *index.Fill) (n int, err error) {
	q := query{source: *b.source, plan: plan{Index: byID, AsIs: true}}
	var set index.Set
	read := 0
	for g, err := range q.groups(ctx, t, o, q.plan, c) {
		if err != nil {
			return n, err
		}
		v, err := q.decodeGroup(g)
		if err != nil {
			return n, err
		}
		if err := b.record.gather(&set, o, g.ID, v); err != nil {
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
