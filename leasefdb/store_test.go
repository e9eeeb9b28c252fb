// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// TestStore runs the suite that all stores of leases pass, on the engine as it
// is and on the hostile one, without its delays.
func TestStore(t *testing.T) {
	engines := map[string]func(kv.Database) kv.Database{"plain": func(db kv.Database) kv.Database { return db }}
	if !testing.Short() {
		engines["hostile"] = func(db kv.Database) kv.Database {
			return faults.Hostile(db, faults.Options{Seed: seed.Of(t), MaxDelay: -1, Faults: 1})
		}
	}
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			db := lossyDatabase{engine(enginetest.Open(t))}
			leasetest.Run(t, leasetest.Suite{Open: func(t *testing.T, name string) lease.Store {
				return must[*leasefdb.Store](t)(leasefdb.NewStore(db, leasefdb.StoreOptions{Path: []string{"leases", name}}))
			}})
		})
	}
}

// lossyDatabase is a database that loses no acknowledgements. The suite's
// requests are mostly without a key, and then each lost reply is one lease
// more: TestLostReply is about those.
type lossyDatabase struct{ kv.Database }

func (a lossyDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	return a.Database.Transact(ctx, func(tx kv.Transaction) error {
		if err := tx.SetOption(kv.OptionAutomaticIdempotency, 0); err != nil {
			return err
		}
		return fn(tx)
	})
}

// TestErrorsOfTheFunction checks that the function's own error is returned and
// nothing changed, and that the engine's errors pass through it.
func TestErrorsOfTheFunction(t *testing.T) {
	onEngines(t, func(t *testing.T, db kv.Database) {
		store := must[*leasefdb.Store](t)(leasefdb.NewStore(db, leasefdb.StoreOptions{}))
		boom := errors.New("boom")
		runs := 0
		err := store.Update(ctx, "s", func(tx lease.Tx) error {
			tx.Set([]byte("k"), []byte("v"))
			if runs++; runs < 3 {
				return kv.NewError(kv.CodeNotCommitted, "made up")
			}
			return boom
		})
		wantError(t, err, boom)
		if runs < 3 {
			t.Errorf("the function ran %d times: a retryable error runs it again", runs)
		}
		check(t, store.Update(ctx, "s", func(tx lease.Tx) error {
			values, err := tx.Get(ctx, []byte("k"))
			if err == nil && values[0] != nil {
				t.Error("a failed update was written")
			}
			return err
		}))
	})
}
