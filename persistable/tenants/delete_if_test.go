// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// only allows the directory that is at the path now; for another one it returns other.
func only(t *testing.T, db *persistable.DB, other error, path ...string) directory.Condition {
	shown := must[*directory.Directory](t)(db.Layer().Open(ctx, db.Engine(), path))
	return func(_ kv.ReadTransaction, d *directory.Directory) error {
		if !bytes.Equal(d.Reserve().Begin, shown.Reserve().Begin) {
			return other
		}
		return nil
	}
}

// A tenant that replaced the one that a person has seen stays. What is left of the one before is
// cleared if the condition says that there is no tenant.
func TestDeleteIf(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	all := tenants.Of(db, "tenants")
	someOrders(t, db, "a", 1)
	errOther := errors.New("another one")
	refuse, ignore := only(t, db, errOther, "tenants", "a"), only(t, db, tenants.ErrNotFound, "tenants", "a")
	check(t, all.DeleteIf(ctx, "a", refuse))
	wantError(t, all.DeleteIf(ctx, "a", refuse), tenants.ErrNotFound)

	someOrders(t, db, "a", 2)
	wantError(t, all.DeleteIf(ctx, "a", refuse), errOther)
	wantError(t, all.DeleteIf(ctx, "a", ignore), tenants.ErrNotFound)
	c := &crasher{Database: engine, left: -1}
	crashing := open(t, c)
	c.left = 1 // the tenant is moved out, and not cleared
	wantError(t, tenants.Of(crashing, "tenants").Delete(ctx, "a"), errCrash)
	someOrders(t, db, "a", 3)
	check(t, all.DeleteIf(ctx, "a", ignore))
	if n := must[int](t)(all.Sweep(ctx)); n != 0 {
		t.Errorf("%d tenants were left", n)
	}
	if n := must[int](t)(OrderStoreOf(db, "a").Scan().Count(ctx)); n != 3 {
		t.Errorf("the tenant of the other process has %d records", n)
	}
}

// The acknowledgement of a deletion is lost. Before the retry another process clears what the
// deletion has left, and makes a tenant of the same name: that one stays.
func TestDeleteIsLostAndTheTenantMadeAgain(t *testing.T) {
	for _, again := range []bool{false, true} {
		engine := &enginetest.Lossy{Database: enginetest.Open(t)}
		db, other := open(t, engine), open(t, engine.Database)
		someOrders(t, db, "a", 1)
		engine.Lose(false, func() error {
			if n := must[int](t)(tenants.Of(other, "tenants").Sweep(ctx)); n != 1 {
				t.Errorf("%d tenants were cleared", n)
			}
			if again {
				someOrders(t, other, "a", 2)
			}
			return nil
		})
		check(t, tenants.Of(db, "tenants").Delete(ctx, "a"))
		if n := must[int](t)(OrderStoreOf(other, "a").Scan().Count(ctx)); again && n != 2 {
			t.Errorf("the tenant of the other process has %d records", n)
		}
	}
}

// A lock on a directory, above it, or anywhere in it keeps a transaction from removing it.
func TestCheckUnlocked(t *testing.T) {
	db := open(t, enginetest.Open(t))
	someOrders(t, db, "a", 1)
	someOrders(t, db, "b", 1)
	l := must[tenants.Lock](t)(tenants.Of(db, "tenants").Lock(ctx, "b", "an export"))
	unlocked := func(path ...string) error {
		return db.RemoveDirectoryIf(ctx, func(tx kv.ReadTransaction, d *directory.Directory) error {
			all, err := db.Layer().Subtree(ctx, tx, d.Path())
			if err != nil {
				return err
			}
			return tenants.CheckUnlocked(ctx, tx, all...)
		}, path...)
	}
	for _, path := range [][]string{{"tenants"}, {"tenants", "b"}, {"tenants", "b", "orders"}} {
		if e := wantAs[*persistable.LockedError](t, unlocked(path...)); e.Reason != "an export" || len(e.Path) != 2 || e.Path[1] != "b" {
			t.Errorf("%q: %+v", path, e)
		}
	}
	check(t, unlocked("tenants", "a"))
	wantAs[*persistable.LockedError](t, tenants.Of(db, "tenants", "b").Delete(ctx, "orders"))
	check(t, tenants.Of(db, "tenants").Unlock(ctx, l))
	check(t, unlocked("tenants"))
}

// A tenant that was unlocked since it was exported stays, even if it is locked again. So does one
// with a locked tenant in it.
func TestDeleteLockedRefuses(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	someOrders(t, db, "a", 2)
	inner := must[tenants.Lock](t)(tenants.Of(db, "tenants", "a").Lock(ctx, "orders", "inner"))
	lock := must[tenants.Lock](t)(all.Lock(ctx, "a", "outer"))
	if e := wantAs[*persistable.LockedError](t, all.DeleteLocked(ctx, lock)); e.Reason != "inner" {
		t.Error(e)
	}
	if found, _, err := all.LockOf(ctx, "a"); found != lock || err != nil {
		t.Errorf("after a refusal the lock is %v, %v", found, err)
	}
	wantAs[*persistable.LockedError](t, tenants.Of(db, "tenants", "a").DeleteLocked(ctx, inner))
	check(t, tenants.Of(db, "tenants", "a").Unlock(ctx, inner))
	check(t, all.Unlock(ctx, lock))
	wantError(t, all.DeleteLocked(ctx, lock), tenants.ErrLockLost)
	now := must[tenants.Lock](t)(all.Lock(ctx, "a", "outer"))
	wantError(t, all.DeleteLocked(ctx, lock), tenants.ErrLockLost)
	check(t, all.DeleteLocked(ctx, now))
	if n := len(names(t, all)); n != 0 {
		t.Errorf("%d tenants are left", n)
	}
}
