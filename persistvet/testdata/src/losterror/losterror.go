// SPDX-License-Identifier: Apache-2.0

package losterror

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"

	"example.com/shop"
	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

var errMissing = errors.New("missing")

func ignored(ctx context.Context, db *persistable.DB, orders *shop.OrderStore, o *shop.Order) error {
	return db.Transact(ctx, func(tx persistable.Tx) error {
		orders.In(tx).Create(ctx, o)                     // want `the error of orders.In\(tx\).Create is ignored: a retry loop cannot see a conflict`
		_ = orders.In(tx).Create(ctx, o)                 // want "the error of .* is discarded"
		v, _ := tx.KV().Get(nil).Get(ctx)                // want "the error of .* is discarded"
		got, _ := orders.In(tx).ByNumber(ctx, string(v)) // want "is discarded"
		read(ctx, tx)                                    // want "the error of read is ignored"
		tx.KV().SetOption(1, 0)
		n, _ := strconv.Atoi(got.Number)
		log.Print(n)
		return nil
	})
}

func read(ctx context.Context, tx persistable.Tx) error {
	_, err := tx.KV().Get(nil).Get(ctx)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}

func swallowed(ctx context.Context, db kv.Database, r kv.SelectorRange) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		v, err := tx.Get(nil).Get(ctx)
		if err != nil {
			return nil // want "the function returns nil although err is an error of the engine"
		}
		n, err := strconv.Atoi(string(v))
		if err != nil {
			return nil
		}
		for pair, err := range tx.GetRange(r, kv.RangeOptions{Limit: n}).All(ctx) {
			if err != nil {
				log.Print(pair, err)
				return nil // want "the function returns nil although err is an error of the engine"
			}
		}
		if _, err := tx.Get(nil).Get(ctx); errors.Is(err, errMissing) {
			return nil
		}
		return nil
	})
}

func replaced(ctx context.Context, db kv.Database) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		if _, err := tx.Get(nil).Get(ctx); err != nil {
			return errMissing // want "the function returns another error in place of err"
		}
		v, err := tx.Get(nil).Get(ctx)
		if err != nil {
			return errors.Join(errMissing, err)
		}
		if v == nil {
			return errMissing // returned on purpose, for the caller
		}
		return nil
	})
}

func formatted(ctx context.Context, db kv.Database, key []byte) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		_, err := tx.Get(key).Get(ctx)
		if err != nil {
			return fmt.Errorf("read %5.1f%% of %x: %v", 1.0, key, err) // want "fmt.Errorf makes a new error of the text of err.*Wrap err with %w"
		}
		if _, err := tx.Get(key).Get(ctx); err != nil {
			return fmt.Errorf("%w: %s", errMissing, err) // want "fmt.Errorf makes a new error"
		}
		if _, err = tx.Get(key).Get(ctx); err != nil {
			return fmt.Errorf("read: %s", err.Error()) // want "fmt.Errorf makes a new error"
		}
		if _, err = tx.Get(key).Get(ctx); err != nil {
			return errors.New("read: " + err.Error()) // want "errors.New makes a new error"
		}
		if _, err = strconv.Atoi("1"); err != nil {
			return fmt.Errorf("parse: %v", err)
		}
		return nil
	})
}

func binding(db fdb.Database) {
	db.Transact(func(tr fdb.Transaction) (interface{}, error) {
		v, err := tr.Get(fdb.Key("k")).Get()
		if err != nil {
			return nil, fmt.Errorf("read: %v", err) // want "fmt.Errorf makes a new error"
		}
		old, _ := tr.Get(fdb.Key("old")).Get() // want "the error of .* is discarded"
		return append(v, old...), nil
	})
}

// outside runs after the transaction: nothing retries it.
func outside(ctx context.Context, db *persistable.DB) error {
	if err := db.Transact(ctx, func(tx persistable.Tx) error { return nil }); err != nil {
		return fmt.Errorf("store: %v", err)
	}
	return nil
}
