// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestRemovalIsLostAndCreatedAgain loses the acknowledgement of a removal, with and without
// a fence. Another process creates the directory again before the retry: its records stay.
func TestRemovalIsLostAndCreatedAgain(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		mem := enginetest.Open(t)
		engine := &faulty{Database: mem}
		db := open(t, engine)
		if fenced {
			db = db.Under(claim(t, engine, "me").Fence())
		}
		someOrders(t, OrderStoreOf(db, "t"), 2)
		others := OrderStoreOf(open(t, mem), "t")
		engine.begin(nil, func(n int, commit func() error) error {
			if n > 1 {
				return commit()
			}
			err := lost(commit)
			someOrders(t, others, 3)
			return err
		})
		check(t, db.RemoveDirectory(ctx, "tenants", "t"))
		if n := must[int](t)(others.Scan().Count(ctx)); n != 3 {
			t.Errorf("fenced %v: %d records of the other process are left", fenced, n)
		}
	}
}

// TestRemoveDirectoryIf removes the directory that was read, and no other one.
func TestRemoveDirectoryIf(t *testing.T) {
	db := open(t, enginetest.Open(t))
	someOrders(t, OrderStoreOf(db, "t"), 1)
	errOther := errors.New("another one")
	shown := must[*directory.Directory](t)(db.Layer().Open(ctx, db.Engine(), []string{"tenants", "t"}))
	same := func(_ kv.ReadTransaction, d *directory.Directory) error {
		if !bytes.Equal(d.Reserve().Begin, shown.Reserve().Begin) {
			return errOther
		}
		return nil
	}
	check(t, db.RemoveDirectoryIf(ctx, same, "tenants", "t"))
	someOrders(t, OrderStoreOf(db, "t"), 1)
	wantError(t, db.RemoveDirectoryIf(ctx, same, "tenants", "t"), errOther)
	if n := must[int](t)(OrderStoreOf(db, "t").Scan().Count(ctx)); n != 1 {
		t.Errorf("%d records are left", n)
	}
}

// TestRemovalByAReader: a DB that only reads removes nothing, also on an engine that
// writes.
func TestRemovalByAReader(t *testing.T) {
	engine := enginetest.Open(t)
	someOrders(t, OrderStoreOf(open(t, engine), "t"), 1)
	db := must[*persistable.DB](t)(persistable.OpenWith(ctx, engine, persistable.Options{ReadOnly: true, IDs: persistable.IDOptions{Off: true}}))
	defer db.Close()
	wantError(t, db.RemoveDirectory(ctx, "tenants", "t"), persistable.ErrReadOnly)
}
