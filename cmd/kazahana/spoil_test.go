// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// spoil removes the first entry of an index, as no program does: spoil DIR PATH INDEX.
func spoil(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(ctx context.Context, db *persistable.DB) error {
		return db.Engine().Transact(ctx, func(tx kv.Transaction) error {
			d, err := db.Layer().Open(ctx, tx, strings.Split(args[1], "/"))
			if err != nil {
				return err
			}
			prefix, err := d.Prefix()
			if err != nil {
				return err
			}
			entries := kv.PrefixRange(tuple.AppendString(tuple.AppendString(prefix, "I"), args[2]))
			first, err := tx.GetRange(entries.Selectors(), kv.RangeOptions{Limit: 1}).Slice(ctx)
			if err == nil && len(first) == 0 {
				err = errors.New("the index has no entry")
			}
			if err == nil {
				tx.Clear(first[0].Key)
			}
			return err
		})
	})
}

// duplicate creates a counter with the name of another one, while there is no unique index
// of names, and lets a program begin to build it: duplicate DIR.
func duplicate(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(ctx context.Context, db *persistable.DB) error {
		counters := bazaar.CounterStoreOf(db)
		if err := counters.CreateWithID(ctx, 9, &bazaar.Counter{Name: "visits"}); err != nil {
			return err
		}
		err := counters.Indexes().Build(ctx, persistable.BuildOptions{})
		if errors.As(err, new(*persistable.NotUniqueError)) {
			return nil
		}
		return fmt.Errorf("the build ended with: %w", err)
	})
}

// remove deletes the second order of a tenant: remove DIR TENANT.
func remove(ts *testscript.TestScript, _ bool, args []string) {
	change(ts, args[0], func(ctx context.Context, db *persistable.DB) error {
		orders, err := bazaar.OrderStoreOf(db, args[1]).Scan().Limit(2).Slice(ctx)
		if err != nil {
			return err
		}
		return bazaar.OrderStoreOf(db, args[1]).Delete(ctx, orders[1].ID)
	})
}

// change opens a database, and closes it.
func change(ts *testscript.TestScript, dir string, do func(context.Context, *persistable.DB) error) {
	ctx := context.Background()
	engine := openDatabase(ts, dir)
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err == nil {
		err = errors.Join(do(ctx, db), db.Close())
	}
	ts.Check(errors.Join(err, engine.Close()))
}
