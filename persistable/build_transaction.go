// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"

	"github.com/kazahana-db/kazahana/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// buildTransaction is a transaction of a build: a [build.Transaction].
type buildTransaction struct {
	*source
	t     *transaction
	store *openStore
}

// KV implements [build.Transaction].
func (b *buildTransaction) KV() kv.Transaction { return b.t.writer }

// Place implements [build.Transaction].
func (b *buildTransaction) Place() build.Place { return b.store.buildPlace(b.place) }

// prunedOperand makes the commit the version up to which deletions were forgotten: a
// build of versions begins with none, so readers of changes must begin anew.
var prunedOperand = make([]byte, index.VersionSize+4)

// SetStates implements [build.Transaction].
func (b *buildTransaction) SetStates(ctx context.Context, to index.State, which func(*index.Index) bool) error {
	next := b.store.catalog.Clone()
	for i := range b.store.maintained {
		if ix := &b.store.maintained[i]; which(ix) {
			next.SetState(ix.Definition, to)
			if ix.Kind == index.Version && to == index.Building {
				b.t.writer.Atomic(kv.SetVersionstampedValue, b.store.prunedKey(b.place), prunedOperand)
			}
		}
	}
	if next.Equal(b.store.catalog) {
		return nil
	}
	return b.t.changeCatalog(ctx, b.place, b.store, next)
}

// CutRecord implements [build.Transaction].
func (b *buildTransaction) CutRecord(key []byte) (suffix []byte, ok bool) {
	return b.store.records.CutRecord(key)
}

// Fill implements [build.Transaction].
func (b *buildTransaction) Fill(ctx context.Context, batch build.Batch) (build.Portion, error) {
	f := fill{buildTransaction: b, batch: batch, taken: build.Portion{Next: batch.To}}
	err := f.run(ctx)
	return f.taken, err
}
