// SPDX-License-Identifier: Apache-2.0

package leasefdb

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
)

// Watch returns the state of a name and a watch that becomes ready when the state has
// changed: when the name was claimed, renewed, given back or taken over. It may
// also become ready without a change, and fails where no watch can be had: see
// [kv.Transaction.Watch]. Cancel it when it is no longer needed. Given a
// transaction, the watch is armed by its commit. The directory of the names is
// created if there is none.
func (n *Names) Watch(ctx context.Context, t kv.Transactor, name string) (s State, w kv.Future[struct{}], err error) {
	if err := checkText("name", name); err != nil {
		return s, w, err
	}
	err = t.Transact(ctx, func(tx kv.Transaction) error {
		d, err := n.dirs.CreateOrOpen(ctx, tx, n.path)
		if err != nil {
			return err
		}
		k, err := keysOf(d, name)
		if err != nil {
			return err
		}
		w = tx.Watch(k.renewal)
		s, err = k.read(ctx, tx, name)
		return err
	})
	return s, w, err
}

// Watch checks the grant in tx and returns a watch that becomes ready when the grant
// is not in force any more. Renewals do not make it ready. It is armed by the
// commit of tx: see [kv.Transaction.Watch].
func (g Grant) Watch(ctx context.Context, tx kv.Transaction) (w kv.Future[struct{}], err error) {
	if g.keys.fence == nil {
		return w, errNoGrant
	}
	w = tx.Watch(g.keys.fence)
	return w, g.Check(ctx, tx)
}
