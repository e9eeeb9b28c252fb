// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestStoreOpenedLateInATransaction opens a second store, not cached, in a
// transaction that many commits of others have overtaken: 1,100, or fewer on a cluster that
// is too slow for them, since its transactions last five seconds.
func TestStoreOpenedLateInATransaction(t *testing.T) {
	if enginetest.Cluster {
		openLate(t, enginetest.Open(t))
		return
	}
	synctest.Test(t, func(t *testing.T) { openLate(t, enginetest.InProcess(t)) }) // where no time passes
}

func openLate(t *testing.T, engine kv.Database) {
	db := open(t, engine)
	for _, tenant := range []string{"a", "b"} {
		check(t, OrderStoreOf(db, tenant).CreateWithID(ctx, 1, &Order{TenantID: tenant, Number: "1", Status: Pending, CreatedAt: day0}))
	}

	fresh := open(t, engine) // another process, which has opened nothing yet
	runs, begun := 0, time.Now()
	check(t, fresh.Transact(ctx, func(tx persistable.Tx) error {
		if runs++; runs > 1 {
			return errors.New("it had to run again")
		}
		if _, err := OrderStoreOf(fresh, "a").In(tx).Scan().Count(ctx); err != nil {
			return err
		}
		for i := 0; i < 1100 && time.Since(begun) < 3*time.Second; i++ {
			//persistvet:ignore outsidetx other writers advance the version
			check(t, engine.Transact(ctx, func(k kv.Transaction) error { k.Set([]byte("other"), nil); return nil }))
		}
		_, err := OrderStoreOf(fresh, "b").In(tx).Get(ctx, 1)
		return err
	}))
}
