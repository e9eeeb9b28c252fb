// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestStoreWaitsForItsFirstLease: the database stops to answer after Open. A store's ids wait
// for it, even with Fallback: random ones begin only after a try to lease has failed.
func TestStoreWaitsForItsFirstLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(idgen.DefaultCustomEpoch).Add(time.Hour)))
		engine := &enginetest.Silent{Database: enginetest.InProcess(t)}
		db := must[*persistable.DB](t)(persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Fallback: true}}))
		orders := OrderStoreOf(db, "t")
		engine.SetDown(true)
		if o := orders.New(Order{Number: "1"}); o.ID != 0 {
			t.Errorf("the constructor made %d, fallback %v", o.ID, o.ID.IsFallback())
		}
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err := orders.Create(short, &Order{TenantID: "t", Number: "1", CreatedAt: day0})
		wantError(t, err, persistable.ErrNoID, "gave up waiting for a lease")
		wantError(t, err, context.DeadlineExceeded)
		if n := db.IDs().(*idgen.Client).Metrics().RandomFallbackIDs; n != 0 {
			t.Errorf("%d random ids before any try to lease has failed", n)
		}
		if id := must[idgen.ID](t)(db.IDs().Next(ctx)); !id.IsFallback() {
			t.Errorf("the id after a failed try is %d, want a fallback id", id)
		}
		engine.SetDown(false)
		check(t, db.Close())
	})
}
