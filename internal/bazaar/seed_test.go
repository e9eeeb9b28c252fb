// SPDX-License-Identifier: Apache-2.0

package bazaar_test

import (
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestSeed: the database is there, and sound.
func TestSeed(t *testing.T) {
	ctx, engine := context.Background(), enginetest.Open(t)
	if err := bazaar.Seed(ctx, engine); err != nil {
		t.Fatal(err)
	}
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	orders, accounts := bazaar.OrderStoreOf(db, "tenant-1"), bazaar.AccountStoreOf(db, "tenant-1")
	if n, err := orders.CountAll(ctx); n != 24 || err != nil {
		t.Errorf("%d orders, %v", n, err)
	}
	if r, err := orders.Indexes().Verify(ctx, persistable.VerifyOptions{}); err != nil || len(r.Faults) > 0 || len(r.Skipped) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if h, err := accounts.Indexes().History(ctx); len(h) < 3 || err != nil {
		t.Errorf("%d versions of the schema, %v", len(h), err)
	}
}
