// SPDX-License-Identifier: Apache-2.0

package txescape

import (
	"context"

	"example.com/shop"
	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

type keeper struct{ tx kv.Transaction }

func (k *keeper) keep(ctx context.Context, db kv.Database) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		k.tx = tx // want "the transaction is assigned to k.tx, which outlives the transaction"
		own := keeper{tx: tx}
		own.tx = tx
		return nil
	})
}

func futures(ctx context.Context, db kv.Database) ([]byte, error) {
	var f, unused kv.Future[[]byte]
	_ = unused
	var stamp kv.Future[[]byte]
	var changed kv.Future[struct{}]
	var all []kv.Future[[]byte]
	var value []byte
	err := db.Transact(ctx, func(tx kv.Transaction) (err error) {
		f = tx.Get(nil)                // want "a future is assigned to f, which outlives the transaction.*take its value"
		all = append(all, tx.Get(nil)) // want "a future is assigned to all"
		unused = tx.Get(nil)           // and no use after the transaction
		stamp = tx.GetVersionstamp()
		changed = tx.Watch(nil)
		value, err = tx.Get(nil).Get(ctx)
		return err
	})
	f.Get(ctx)
	stamp.Get(ctx)
	changed.Get(ctx)
	all[0].Get(ctx)
	return value, err
}

func sent(ctx context.Context, db kv.Database, out chan kv.Transaction) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		out <- tx // want "the transaction is sent on the channel out"
		return nil
	})
}

func returned(ctx context.Context, db kv.Database, k *keeper) {
	kv.Transact(ctx, db, func(tx kv.Transaction) (kv.RangeResult, error) {
		return tx.GetRange(kv.SelectorRange{}, kv.RangeOptions{}), nil // want "a range read is returned from the transaction function"
	})
	kv.Transact(ctx, k.tx, func(tx kv.Transaction) (kv.RangeResult, error) { // of the caller's transaction
		return tx.GetRange(kv.SelectorRange{}, kv.RangeOptions{}), nil
	})
}

func binding(db fdb.Database) {
	db.Transact(func(tr fdb.Transaction) (interface{}, error) {
		return tr.Get(fdb.Key("k")), nil // want "a future is returned from the transaction function"
	})
	db.Transact(func(tr fdb.Transaction) (interface{}, error) { return tr.Watch(fdb.Key("k")), nil })
	db.Transact(func(tr fdb.Transaction) (interface{}, error) { return tr.Get(fdb.Key("k")).MustGet(), nil })
}

func directories(ctx context.Context, db kv.Database) ([]string, error) {
	var prefix, path, again *directory.Directory
	err := db.Transact(ctx, func(tx kv.Transaction) (err error) {
		prefix, err = directory.Root().CreateOrOpen(ctx, tx, nil) // want "a directory is assigned to prefix.*may belong to another directory"
		if err != nil {
			return err
		}
		again, err = directory.Root().CreateOrOpen(ctx, tx, nil)
		if err != nil {
			return err
		}
		path, err = directory.Root().CreateOrOpen(ctx, tx, nil)
		return err
	})
	again, _ = directory.Root().CreateOrOpen(ctx, db, nil)
	prefix.Prefix()
	again.Prefix()
	return path.Path(), err
}

func bound(ctx context.Context, db *persistable.DB, orders *shop.OrderStore) ([]*shop.Order, error) {
	var store *shop.OrderStore
	var query *persistable.Query[*shop.Order]
	var records []*shop.Order
	err := db.Transact(ctx, func(tx persistable.Tx) (err error) {
		store = orders.In(tx)             // want "a store or query that is bound to the transaction is assigned to store"
		query = orders.In(tx).ByStatus(1) // want "a store or query that is bound to the transaction is assigned to query"
		records, err = orders.In(tx).ByStatus(1).Slice(ctx)
		return err
	})
	store.Get(ctx, 1)
	query.Slice(ctx)
	return records, err
}

// helper returns a future to the function that has the transaction.
func helper(tx kv.ReadTransaction) kv.Future[[]byte] { return tx.Get(nil) }
