// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"math"
	"slices"
)

// putSome writes the first of the records in one transaction and returns the others.
func (m *batcher) putSome(ctx context.Context, vs []any, how putOptions) (rest []any, err error) {
	err = m.commit(ctx, func(b *batch, size int) (int, error) {
		if found, err := b.open(ctx, b.checkCreation(ctx, vs[0], how)); err != nil {
			return 0, err
		} else if !found {
			b.fault = b.notFound(vs[0])
			return 0, nil
		}
		if stored, err := m.isStored(ctx, b, vs[:m.unknown], how); stored || err != nil {
			return m.unknown, err
		}
		for _, v := range vs[:min(size, len(vs))] {
			if !b.addRecord(ctx, v, how, m.options.Bytes) {
				break
			}
		}
		return b.runBefore(ctx)
	})
	return slices.Delete(vs, 0, m.taken), err
}

// isStored reports whether the database has what an earlier attempt, which may have
// committed, has saved. That attempt is not repeated: a record that took a unique value from
// one before it in the list would make the repetition fail at that one. Records that an attempt
// has created tell it by their token: see [transaction.committedEarlier].
func (m *batcher) isStored(ctx context.Context, b *batch, vs []any, how putOptions) (bool, error) {
	if len(vs) == 0 || how.mustBeNew {
		return false, nil
	}
	saved := newBatch(m.source, b.t, &batchMemory{})
	defer saved.release()
	saved.store = b.store
	for _, v := range vs {
		if !saved.addRecord(ctx, v, how, math.MaxInt) {
			return false, nil
		}
	}
	if err := saved.startReads(ctx); err != nil {
		return false, err
	}
	return saved.isUnchanged(ctx)
}
