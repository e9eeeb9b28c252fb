// SPDX-License-Identifier: Apache-2.0

package freshvalue

import (
	"context"
	"log"
	"math/rand/v2"
	"time"

	"example.com/shop"
	"example.com/tools"
	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/google/uuid"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

func create(ctx context.Context, db *persistable.DB, orders *shop.OrderStore) error {
	before := shop.NewOrder(shop.Order{})
	return db.Transact(ctx, func(tx persistable.Tx) error {
		if err := orders.In(tx).Create(ctx, before); err != nil {
			return err
		}
		return orders.In(tx).Create(ctx, shop.NewOrder(shop.Order{})) // want "takes an id through shop.NewOrder: a retry takes another one.*Take it before the transaction"
	})
}

func createByStore(ctx context.Context, db *persistable.DB, orders *shop.OrderStore) error {
	return db.Transact(ctx, func(tx persistable.Tx) error {
		order := orders.New(shop.Order{}) // want "takes an id through OrderStore.New"
		id, err := db.IDs().Next(ctx)     // want `takes an id \(Generator.Next\)`
		order.ID = id
		_ = idgen.Must(idgen.NewID(), err) // want `takes an id \(idgen.NewID\)`
		return err
	})
}

func createOfInput(ctx context.Context, db *persistable.DB, orders *shop.OrderStore, input shop.Order) error {
	return db.Transact(ctx, func(tx persistable.Tx) error {
		order, err := orders.TryNew(input) // want "takes an id through OrderStore.TryNew"
		if err != nil {
			return err
		}
		return orders.In(tx).Create(ctx, order)
	})
}

func stamp(ctx context.Context, db kv.Database) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Set([]byte("at"), []byte(time.Now().String()))          // want `takes the time \(time.Now\)`
		tx.Set([]byte("until"), []byte(tools.Deadline().String())) // want "takes the time .time.Now. through tools.Deadline"
		tx.Set([]byte("shard"), []byte{byte(rand.IntN(8))})        // want `takes a random number \(rand.IntN\)`
		tx.Set([]byte("id"), newKey())                             // want "takes a UUID .uuid.New. through newKey"
		now := time.Now()                                          // want "takes the time"
		tx.Set([]byte("now"), []byte(now.String()))
		return nil
	})
}

func newKey() []byte {
	id := uuid.New()
	return []byte(id.String())
}

func helper(tx kv.Transaction) {
	tx.Set([]byte("at"), []byte(time.Now().String())) // want "takes the time"
}

// declared runs in a transaction, because it is passed to one.
func declared(tx fdb.Transaction) (interface{}, error) {
	id := uuid.New() // want `takes a UUID \(uuid.New\)`
	tx.Set(fdb.Key("id"), id[:])
	return nil, nil
}

func run(db fdb.Database) { db.Transact(declared) }

func update(ctx context.Context, orders *shop.OrderStore) error {
	return orders.Update(ctx, 1, func(o *shop.Order) error {
		o.Placed = int(time.Now().Unix()) // want "takes the time"
		return nil
	})
}

// measure takes clocks that reach no data.
func measure(ctx context.Context, db kv.Database, until time.Time) error {
	var end time.Time
	var took time.Duration
	err := db.Transact(ctx, func(tx kv.Transaction) error {
		start := time.Now()
		defer func() { log.Print(time.Since(start)) }()
		defer observe(time.Now())
		if time.Now().After(until) || until.Before(time.Now()) {
			return context.DeadlineExceeded
		}
		ctx, cancel := context.WithDeadline(ctx, time.Now().Add(time.Second))
		defer cancel()
		_, err := tx.Get([]byte("k")).Get(ctx)
		took = tools.Elapsed(until)
		if time.Now().Unix() > 5 {
			return nil
		}
		end = time.Now()
		return err
	})
	log.Print(time.Until(end), took)
	return err
}

func observe(time.Time) {}

// reads takes what differs each time in transactions that store nothing.
func reads(ctx context.Context, db kv.Database, p *persistable.DB, binding fdb.Database, until map[string]time.Time) error {
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		until["read"] = time.Now().Add(time.Second)
		_, err := tx.Get(newKey()).Get(ctx)
		return err
	})
	p.ReadTransact(ctx, func(tx persistable.Tx) error {
		until["store"] = time.Now()
		return nil
	})
	binding.ReadTransact(func(tx fdb.ReadTransaction) (interface{}, error) {
		until["binding"] = time.Now()
		return tx.Get(fdb.Key(newKey())).Get()
	})
	return err
}

// readNow stores nothing itself.
func readNow(ctx context.Context, tx kv.ReadTransaction) time.Time {
	tx.Get(nil)
	return time.Now()
}

func storeRead(ctx context.Context, db kv.Database) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Set([]byte("at"), []byte(readNow(ctx, tx).String())) // want "takes the time .time.Now. through readNow"
		return nil
	})
}

// outside is not a transaction function.
func outside() time.Time { return time.Now() }

// attempts takes an id on purpose in the second attempt.
func attempts(ctx context.Context, db kv.Database) error {
	attempts := 0
	return db.Transact(ctx, func(tx kv.Transaction) error {
		if attempts++; attempts == 2 {
			tx.Set([]byte("id"), []byte(uuid.New().String()))
		}
		return nil
	})
}
