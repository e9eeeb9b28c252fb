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

func skipped(ctx context.Context, db kv.Database, r kv.SelectorRange, keys [][]byte) error {
	return db.Transact(ctx, func(tx kv.Transaction) error {
		for _, key := range keys {
			if _, err := tx.Get(key).Get(ctx); err != nil {
				continue // want "the continue swallows err, an error of the engine"
			}
			v, err := tx.Get(key).Get(ctx)
			if err != nil {
				log.Print(err)
				break // want "the break swallows err, an error of the engine"
			}
			if _, err := strconv.Atoi(string(v)); err != nil {
				continue
			}
			if _, err := tx.Get(v).Get(ctx); err != nil && !errors.Is(err, errMissing) {
				return err
			}
			switch v, err := tx.Get(v).Get(ctx); {
			case len(v) > 0:
				if err != nil {
					break // want "the break swallows err"
				}
			case err != nil:
				return err
			}
		}
	outer:
		for pair, err := range tx.GetRange(r, kv.RangeOptions{}).All(ctx) {
			if err != nil {
				continue // want "the continue swallows err"
			}
			for range pair.Key {
				if _, err := tx.Get(pair.Key).Get(ctx); err != nil {
					continue outer // want "the continue swallows err"
				}
			}
		}
		var err error
		for _, key := range keys {
			if _, err = tx.Get(key).Get(ctx); err != nil {
				break // the function returns it
			}
		}
		return err
	})
}

func skippedOuter(ctx context.Context, db kv.Database, keys [][]byte) error {
	return db.Transact(ctx, func(tx kv.Transaction) (err error) {
		var first, other error
		var v []byte
		for _, key := range keys {
			if v, other = tx.Get(key).Get(ctx); other != nil {
				continue // want "the continue swallows other"
			}
			if other = look(ctx, tx, v); other != nil {
				break // want "the break swallows other"
			}
			if _, err = tx.Get(key).Get(ctx); err != nil {
				break // a result
			}
		}
		for i := 0; first == nil && i < len(keys); i++ {
			if _, first = tx.Get(keys[i]).Get(ctx); first != nil {
				continue // the condition ends the loop
			}
		}
		_, other = tx.Get(nil).Get(ctx)
		return errors.Join(first, other)
	})
}

func look(ctx context.Context, tx kv.Transaction, key []byte) error {
	_, err := tx.Get(key).Get(ctx)
	return err
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
		if _, err := tx.Get(key).Get(ctx); err != nil {
			return fmt.Errorf("read: %+10v", err) // want "fmt.Errorf makes a new error"
		}
		if _, err := tx.Get(key).Get(ctx); err != nil {
			return fmt.Errorf("read: %q", err) // want "fmt.Errorf makes a new error"
		}
		if _, err := tx.Get(key).Get(ctx); err != nil {
			return fmt.Errorf(`read: %q`, err) // want "fmt.Errorf makes a new error"
		}
		if _, err := tx.Get(key).Get(ctx); err != nil {
			return fmt.Errorf("read: %T %x", err, key) // want "fmt.Errorf makes a new error"
		}
		if _, err := tx.Get(key).Get(ctx); err != nil {
			return fmt.Errorf("%T %s: %w", err, err.Error(), err)
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
