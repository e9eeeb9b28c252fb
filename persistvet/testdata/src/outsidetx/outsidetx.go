// SPDX-License-Identifier: Apache-2.0

package outsidetx

import (
	"context"

	"example.com/shop"
	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

type service struct{ orders *shop.OrderStore }

func stores(ctx context.Context, db *persistable.DB, orders *shop.OrderStore, s *service) error {
	scanned := shop.OrderStoreOf(db, "a")
	return db.Transact(ctx, func(tx persistable.Tx) error {
		orders.Get(ctx, 1)                           // want `orders.Get uses a store that is not bound to the transaction: it commits even if.*Bind it: orders.In\(tx\)`
		orders.ByStatus(1).Slice(ctx)                // want "orders.ByStatus uses a store that is not bound"
		shop.OrderStoreOf(db, "a").ByNumber(ctx, "") // want "not bound"
		scanned.AllowScan().Find()                   // want "not bound"
		s.orders.Create(ctx, nil)                    // want "s.orders.Create uses a store that is not bound"
		orders.In(tx).Get(ctx, 1)
		bound := orders.In(tx)
		bound.Get(ctx, 1)
		bound.AllowScan().Find()
		other := shop.OrderStoreOf(db, "b")
		other.Get(ctx, 1) // want "not bound"
		other.In(tx).Get(ctx, 1)
		orders.Path()
		orders.New(shop.Order{})
		orders.Create(persistable.OwnTransaction(ctx), nil)
		own := persistable.OwnTransaction(ctx)
		orders.Create(own, nil)
		use(ctx, tx, orders.In(tx), s)
		return nil
	})
}

// use gets a store that may be bound already.
func use(ctx context.Context, tx persistable.Tx, orders *shop.OrderStore, s *service) error {
	_, err := orders.Get(ctx, 1)
	if err == nil {
		_, err = s.orders.Get(ctx, 1)
	}
	return err
}

func after(ctx context.Context, db *persistable.DB, orders *shop.OrderStore) {
	orders.Get(ctx, 1)
}

func nested(ctx context.Context, db kv.Database, p *persistable.DB) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		db.ReadTransact(ctx, func(kv.ReadTransaction) error { return nil }) // want "db.ReadTransact in a transaction function is a transaction of its own.*Use tx"
		tx.ReadTransact(ctx, func(kv.ReadTransaction) error { return nil })
		p.RemoveDirectory(ctx, "a")                 // want "p.RemoveDirectory in a transaction function"
		directory.Root().CreateOrOpen(ctx, db, nil) // want "gets the database db and is a transaction of its own.*Give it tx"
		directory.Root().CreateOrOpen(ctx, tx, nil)
		return nil
	})
}

// conflicts writes in another transaction on purpose, in the first attempt.
func conflicts(ctx context.Context, db kv.Database) error {
	attempt := 0
	return db.Transact(ctx, func(tx kv.Transaction) error {
		if attempt++; attempt == 1 {
			return db.Transact(ctx, func(kv.Transaction) error { return nil })
		}
		return nil
	})
}

func binding(db fdb.Database) {
	db.Transact(func(tr fdb.Transaction) (interface{}, error) {
		db.ReadTransact(func(fdb.ReadTransaction) (interface{}, error) { return nil, nil }) // want "db.ReadTransact in a transaction function"
		read(db)                                                                            // want "read gets the database db"
		return read(tr)
	})
}

func read(t fdb.ReadTransactor) (interface{}, error) {
	return t.ReadTransact(func(tr fdb.ReadTransaction) (interface{}, error) { return tr.Get(fdb.Key("k")).Get() })
}
