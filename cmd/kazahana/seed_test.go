// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
)

// seedDatabase writes the database of package bazaar, which the commands of the script use then: seed DIR.
func seedDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: seed directory")
	}
	engine := createDatabase(ts, args[0])
	ts.Check(errors.Join(bazaar.Seed(context.Background(), engine), engine.Close()))
}

// unlockDatabase ends the lock that a move has left on the database of seed: unlock. It removes all
// keys, too: unlock empty.
func unlockDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "empty" {
		ts.Fatalf("usage: unlock [empty]")
	}
	engine := openDatabase(ts, "data")
	ts.Check(errors.Join(unlock(engine, len(args) == 1), engine.Close()))
}

// unlock ends the lock of a database, and removes all keys if it is to be empty.
func unlock(db kv.Database, empty bool) error {
	return db.Transact(context.Background(), func(tx kv.Transaction) error {
		for _, o := range []kv.Option{kv.OptionAccessSystemKeys, kv.OptionLockAware} {
			if err := tx.SetOption(o, 0); err != nil {
				return err
			}
		}
		tx.Clear([]byte("\xff/dbLocked"))
		if empty {
			tx.ClearRange(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}})
		}
		return nil
	})
}
