// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// damageDatabase writes into a database of package bazaar a key outside of all directories,
// and an index entry without a record: damage DIR.
func damageDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage directory")
	}
	engine := openDatabase(ts, args[0])
	ctx := context.Background()
	err := engine.Transact(ctx, func(tx kv.Transaction) error {
		d, err := directory.Root().Open(ctx, tx, []string{"counters"})
		if err != nil {
			return err
		}
		counters, err := d.Subspace()
		if err != nil {
			return err
		}
		tx.Set(counters.Sub("I", "Counter_Name_unique", "lost").Bytes(), tuple.AppendInt(nil, 99))
		tx.Set([]byte("outside"), nil)
		return nil
	})
	ts.Check(errors.Join(err, engine.Close()))
}
