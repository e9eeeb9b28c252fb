// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestSaveExistingFrom stops at the first record that does not exist: those before it are
// saved, and it is not created.
func TestSaveExistingFrom(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "t")
		check(t, s.CreateMany(ctx, manyOrders(1, 20), persistable.BatchOptions{}))
		changed := manyOrders(1, 30)
		for _, o := range changed {
			o.Amount = 7
		}
		e := wantAs[*persistable.PartialError](t, saveExistingMany(s, changed, persistable.BatchOptions{Records: 8}))
		if e.Done != 20 || !errors.Is(e, persistable.ErrNotFound) {
			t.Errorf("%v", e)
		}
		for o, err := range s.Scan().All(ctx) {
			if check(t, err); o.Amount != 7 || o.ID > 20 {
				t.Errorf("the record %v has the amount %d", o.ID, o.Amount)
			}
		}
		sound(t, s.Indexes().Verify)
	})
}

// TestBatchesWithoutAStore: saving over records of a store that does not exist, or deleting
// them, makes no directory.
func TestBatchesWithoutAStore(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := OrderStoreOf(db, "nobody")
		e := wantAs[*persistable.PartialError](t, saveExistingMany(s, manyOrdersOf("nobody", 3), persistable.BatchOptions{}))
		if e.Done != 0 || !errors.Is(e, persistable.ErrNotFound) {
			t.Errorf("saving: %v", e)
		}
		check(t, persistable.DeleteMany(ctx, &s.Store, []idgen.ID{1, 2}, persistable.BatchOptions{}))
		if _, err := db.Layer().Open(ctx, db.Engine(), s.Path()); !errors.Is(err, directory.ErrNotFound) {
			t.Errorf("the directory: %v", err)
		}
	})
}

func manyOrdersOf(tenant string, n int) []*Order {
	all := manyOrders(1, n)
	for _, o := range all {
		o.TenantID = tenant
	}
	return all
}
