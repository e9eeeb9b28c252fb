// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// cut is the database of a process that can be cut off from it, as by a crash or a
// network: its transactions then fail for as long as that lasts.
type cut struct {
	kv.Database
	off, noWatches atomic.Bool
	refuses        bool // the whole transaction if noWatches, else the watch alone
}

func (c *cut) Begin() (kv.Transaction, error) {
	if c.off.Load() {
		return nil, kv.NewError(kv.CodeProcessBehind, "cut off")
	}
	return c.Database.Begin()
}

func (c *cut) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return c.Database.Transact(ctx, func(tx kv.Transaction) error {
		if c.off.Load() {
			return kv.NewError(kv.CodeProcessBehind, "cut off")
		}
		watches := new(atomic.Bool)
		err := fn(cutTx{tx, c, watches})
		if err == nil && c.refuses && watches.Load() {
			return kv.NewError(kv.CodeTooManyWatches, "made up")
		}
		return err
	})
}

func (c *cut) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	return c.Database.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		if c.off.Load() {
			return kv.NewError(kv.CodeProcessBehind, "cut off")
		}
		return fn(tx)
	})
}

type cutTx struct {
	kv.Transaction
	cut     *cut
	watches *atomic.Bool // it asked for a watch that it did not get
}

// Transact has what takes part in the transaction see it as it is.
func (t cutTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

func (t cutTx) Watch(key []byte) kv.Future[struct{}] {
	if t.cut.noWatches.Load() {
		t.watches.Store(true)
		return kv.Resolved(struct{}{}, error(kv.NewError(kv.CodeTooManyWatches, "made up")))
	}
	return t.Transaction.Watch(key)
}
