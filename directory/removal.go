// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// removal is a removal over all attempts of its transaction.
type removal struct {
	layer   *Layer
	path    []string
	allow   Condition
	removed bool
	before  *element // the directory of the last attempt; nil: there was none
}

// attempt returns the function of the transaction.
func (r *removal) attempt(ctx context.Context) func(kv.Transaction, bool) error {
	return func(tx kv.Transaction, maybeCommitted bool) error {
		t, err := r.layer.followToChange(ctx, tx, r.path)
		if err != nil {
			return err
		}
		r.removed = false
		if maybeCommitted {
			if r.removed, err = r.wasRemoved(ctx, tx); r.removed || err != nil {
				return err
			}
		}
		if !t.isComplete() {
			return nil
		}
		if err := r.allow(tx, t.directory()); err != nil {
			return err
		}
		r.removed, r.before = true, t.last()
		return t.removeLast(ctx, tx)
	}
}

// wasRemoved reports whether the directory of an earlier attempt is there no more,
// neither at the path nor, because it was moved, at another one. Its prefix tells: no
// other directory gets it, so another directory that is at the path now stays.
func (r *removal) wasRemoved(ctx context.Context, tx kv.Transaction) (bool, error) {
	if r.before == nil {
		return false, nil
	}
	layer, err := tx.Get(r.before.tree.node(r.before.prefix).layerKey()).Get(ctx)
	return err == nil && layer == nil, err
}
