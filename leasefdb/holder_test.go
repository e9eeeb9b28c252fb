// SPDX-License-Identifier: Apache-2.0

package leasefdb_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// TestHolder checks that a read of the holder conflicts with changes of the holder and
// not with renewals, and that it takes part in a round of other reads.
func TestHolder(t *testing.T) {
	db := faults.NewCounter(enginetest.Open(t))
	names := openNames(t, db)
	if s := must[leasefdb.State](t)(names.Holder(ctx, db, "job")); s.Held() || s.Epoch != 0 {
		t.Errorf("before the first claim: %+v", s)
	}
	g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{Holder: "me"}))
	must[leasefdb.Grant](t)(g.Renew(ctx, db))
	reader := func() kv.Transaction {
		tx := begin(t, db)
		if s := must[leasefdb.State](t)(names.Holder(ctx, tx, "job")); s.Holder != "me" || s.Epoch != g.Epoch || s.Revision != 0 {
			t.Errorf("the holder is %+v", s)
		}
		tx.Set([]byte("data"), []byte("x"))
		return tx
	}
	tx := reader()
	must[leasefdb.Grant](t)(g.Renew(ctx, db))
	check(t, tx.Commit(ctx))
	tx = reader()
	check(t, g.Release(ctx, db))
	if err := tx.Commit(ctx); !kv.IsConflict(err) {
		t.Errorf("a release beneath a read of the holder: %v, want a conflict", err)
	}
	cost, err := db.Measure(func() error {
		return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
			one, two := names.StartHolder(ctx, tx, "job"), names.StartHolder(ctx, tx, "other")
			_, err := one(ctx)
			_, other := two(ctx)
			return errors.Join(err, other)
		})
	})
	if check(t, err); cost.Rounds != 1 || cost.Gets != 2 {
		t.Errorf("two holders cost %v", cost)
	}
	if _, err := names.Holder(ctx, db, ""); err == nil {
		t.Error("an empty name has a holder")
	}
}

// TestStates checks that several states are one round, and the same as one by one, even if one of them
// cannot be read.
func TestStates(t *testing.T) {
	db := faults.NewCounter(enginetest.Open(t))
	names := openNames(t, db)
	if all := must[[]leasefdb.State](t)(names.States(ctx, db, "a", "b")); len(all) != 2 || all[1].Name != "b" || all[1].Epoch != 0 {
		t.Errorf("before the first claim: %+v", all)
	}
	must[leasefdb.Grant](t)(names.Claim(ctx, db, "a", leasefdb.Claim{}))
	g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "c", leasefdb.Claim{}))
	must[leasefdb.Grant](t)(g.Renew(ctx, db))
	var all []leasefdb.State
	cost, err := db.Measure(func() (err error) {
		all, err = names.States(ctx, db, "c", "b", "a")
		return err
	})
	if check(t, err); cost.Rounds != 1 || cost.Gets != 6 {
		t.Errorf("three states cost %v", cost)
	}
	for i, name := range []string{"c", "b", "a"} {
		if one := must[leasefdb.State](t)(names.Get(ctx, db, name)); one != all[i] {
			t.Errorf("%s is %+v alone and %+v among others", name, one, all[i])
		}
	}
	check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(g.Fence().Key(), []byte{0x15, 99}); return nil }))
	rest, err := names.States(ctx, db, "c", "b", "a")
	if !errors.Is(err, leasefdb.ErrState) || !strings.Contains(err.Error(), `lease "c" at`) || len(rest) != 3 || rest[0] != (leasefdb.State{}) || rest[1] != all[1] || rest[2] != all[2] {
		t.Errorf("among one that cannot be read: %+v, %v", rest, err)
	}
}

// TestBreakLapsed checks that a lease is taken away when it was not renewed for
// as long as it lasts, and not before; that its epoch stays; that of two
// callers one does it; and that a renewal at the same time either prevents it
// or fails.
func TestBreakLapsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		names := openNames(t, db)
		g := must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{Duration: time.Second}))
		lapsed := func(seen leasefdb.Observation) bool {
			return must[bool](t)(names.BreakLapsed(ctx, db, "job", seen))
		}
		if lapsed(leasefdb.Observation{}) {
			t.Error("taken away unseen")
		}
		seen := observe(t, names, leasefdb.Observation{})
		if time.Sleep(999 * time.Millisecond); lapsed(seen) {
			t.Error("taken away a millisecond too early")
		}
		if time.Sleep(time.Millisecond); must[leasefdb.Grant](t)(g.Renew(ctx, db)).Epoch != g.Epoch || lapsed(seen) {
			t.Error("taken away after a renewal")
		}
		seen = observe(t, names, seen)
		time.Sleep(time.Second)

		first, second, renewal := begin(t, db), begin(t, db), begin(t, db)
		for _, tx := range []kv.Transaction{first, second} {
			if !must[bool](t)(names.BreakLapsed(ctx, tx, "job", seen)) {
				t.Error("not taken away once it has lapsed")
			}
		}
		must[leasefdb.Grant](t)(g.Renew(ctx, renewal))
		check(t, first.Commit(ctx))
		for _, tx := range []kv.Transaction{second, renewal} {
			if err := tx.Commit(ctx); !kv.IsConflict(err) {
				t.Errorf("got %v, want a conflict", err)
			}
		}
		if lapsed(seen) {
			t.Error("taken away twice")
		}
		_, err := g.Renew(ctx, db)
		wantError(t, err, leasefdb.ErrLeaseLost)
		if s := must[leasefdb.State](t)(names.Get(ctx, db, "job")); s.Held() || s.Epoch != g.Epoch {
			t.Errorf("afterwards it is %+v", s)
		}

		g = must[leasefdb.Grant](t)(names.Claim(ctx, db, "job", leasefdb.Claim{Duration: time.Second}))
		seen = observe(t, names, leasefdb.Observation{})
		time.Sleep(time.Second)
		first = begin(t, db)
		must[bool](t)(names.BreakLapsed(ctx, first, "job", seen))
		must[leasefdb.Grant](t)(g.Renew(ctx, db))
		if err := first.Commit(ctx); !kv.IsConflict(err) {
			t.Errorf("a renewal that came first: %v, want a conflict", err)
		}
	})
}

// TestNewFence checks fences of keys that others write: they hold while the function
// says so, conflict with a write of the key, and hold never without a function.
func TestNewFence(t *testing.T) {
	db := enginetest.Open(t)
	key := []byte("mine")
	set := func(value string) {
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(key, []byte(value)); return nil }))
	}
	set("me")
	f := leasefdb.NewFence(key, func(found []byte) error {
		if string(found) != "me" {
			return &leasefdb.LostError{Name: "mine", Reason: "it is another's"}
		}
		return nil
	})
	key[0] = 'M' // the fence has a copy
	check(t, f.Under(db).Transact(ctx, func(tx kv.Transaction) error { tx.Set([]byte("data"), nil); return nil }))
	tx := begin(t, db)
	check(t, f.Check(ctx, tx))
	tx.Set([]byte("data"), nil)
	key[0] = 'm'
	set("another")
	if err := tx.Commit(ctx); !kv.IsConflict(err) {
		t.Errorf("a write of the key beneath: %v, want a conflict", err)
	}
	wantError(t, f.Check(ctx, begin(t, db)), leasefdb.ErrLeaseLost)
	if f := leasefdb.NewFence(key, nil); f.IsZero() || f.Check(ctx, begin(t, db)) == nil {
		t.Error("a fence without a function holds")
	}
}
