// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func TestDelete(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		other := open(t, db.Engine())
		all := tenants.Of(db, "tenants")
		someOrders(t, db, "kept", 2)
		check(t, all.Delete(ctx, somewhat(t, db, "first"))) // makes the work directories
		before := keys(t, db)
		orders := someOrders(t, db, "gone", 5)
		must[*Order](t)(OrderStoreOf(other, "gone").Get(ctx, orders[0].ID))
		check(t, all.Delete(ctx, "gone"))
		if after := keys(t, db); after != before {
			t.Errorf("%d keys, %d before", after, before)
		}
		wantError(t, second(OrderStoreOf(other, "gone").Get(ctx, orders[0].ID)), persistable.ErrNotFound)
		wantError(t, OrderStoreOf(other, "gone").SaveExisting(ctx, orders[0]), persistable.ErrNotFound)
		wantError(t, all.Delete(ctx, "gone"), tenants.ErrNotFound)
		wantError(t, tenants.Of(db, "no set").Delete(ctx, "gone"), tenants.ErrNotFound)
		check(t, OrderStoreOf(other, "gone").Create(ctx, OrderStoreOf(other, "gone").New(Order{Number: "new", CreatedAt: day0})))
		if n := must[int](t)(OrderStoreOf(db, "gone").Scan().Count(ctx)); n != 1 {
			t.Errorf("the new tenant has %d records", n)
		}
		if n := must[int](t)(OrderStoreOf(db, "kept").Scan().Count(ctx)); n != 2 {
			t.Errorf("the other tenant has %d records", n)
		}
	})
}

func somewhat(t *testing.T, db *persistable.DB, tenant string) string {
	someOrders(t, db, tenant, 1)
	return tenant
}

// A transaction that writes to the tenant and has not committed conflicts with the
// deletion: no key is left where the tenant was.
func TestDeleteDuringATransaction(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	check(t, all.Delete(ctx, somewhat(t, db, "first"))) // makes the work directories
	before := keys(t, db)
	s := OrderStoreOf(db, somewhat(t, db, "a"))
	tx := must[kv.Transaction](t)(db.Engine().Begin())
	defer tx.Cancel()
	check(t, s.In(db.In(tx)).Create(ctx, s.New(Order{Number: "held", CreatedAt: day0})))
	check(t, all.Delete(ctx, "a"))
	if err := tx.Commit(ctx); !kv.IsConflict(err) {
		t.Errorf("Commit = %v, want a conflict", err)
	}
	if after := keys(t, db); after != before {
		t.Errorf("%d keys, %d before", after, before)
	}
}

// Tenants are deleted while others write: no key is left outside of a directory, and no
// entry without its record.
func TestDeleteWhileWritten(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all := tenants.Of(db, "tenants")
		tenant := []string{"a", "b"}
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				s := OrderStoreOf(db, tenant[w%2])
				for i := range 20 {
					o := s.New(Order{Number: fmt.Sprint(w, "-", i), Status: Paid, CreatedAt: day0, Amount: 1})
					if err := errors.Join(s.Create(ctx, o), s.Save(ctx, o)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for i := range 8 {
			if err := all.Delete(ctx, tenant[i%2]); err != nil && !errors.Is(err, tenants.ErrNotFound) {
				t.Error(err)
			}
		}
		writers.Wait()
		for _, name := range tenant {
			sound(t, OrderStoreOf(db, name).Indexes().Verify)
			if err := all.Delete(ctx, name); err != nil && !errors.Is(err, tenants.ErrNotFound) {
				t.Error(err)
			}
		}
		check(t, db.Engine().ReadTransact(ctx, func(tx kv.ReadTransaction) error {
			for pair, err := range tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).All(ctx) {
				if err != nil {
					return err
				}
				if strings.Contains(string(pair.Key), "\x02Order") {
					t.Errorf("a key is left: %q", pair.Key)
				}
			}
			return nil
		}))
	})
}

// A tenant of many directories, with partitions in it, goes in several transactions.
func TestDeleteOfManyDirectories(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	check(t, all.Delete(ctx, somewhat(t, db, "first")))
	before := keys(t, db)
	for i := range 120 {
		path := []string{"tenants", "wide", fmt.Sprint(i % 7), fmt.Sprint(i)}
		layers := []directory.Expect{}
		if i%7 == 3 {
			layers = append(layers, directory.ElementAs(2, directory.Partition))
		}
		d := must[*directory.Directory](t)(directory.Root().CreateOrOpen(ctx, db.Engine(), path, layers...))
		key := must[[]byte](t)(d.Prefix())
		check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { tx.Set(append(key, 1), key); return nil }))
	}
	check(t, all.Delete(ctx, "wide"))
	if after := keys(t, db); after != before {
		t.Errorf("%d keys, %d before", after, before)
	}
	if n := must[int](t)(all.Sweep(ctx)); n != 0 {
		t.Errorf("%d tenants were left", n)
	}
}

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
		return db.RemoveDirectoryIf(ctx, path, func(tx kv.ReadTransaction, d *directory.Directory) error {
			all, err := db.Layer().Subtree(ctx, tx, d.Path())
			if err != nil {
				return err
			}
			return tenants.CheckUnlocked(ctx, tx, all...)
		})
	}
	for _, path := range [][]string{{"tenants"}, {"tenants", "b"}, {"tenants", "b", "orders"}} {
		wantError(t, unlocked(path...), persistable.ErrLocked, `the directory "tenants"/"b" is locked against writes (an export)`)
	}
	check(t, unlocked("tenants", "a"))
	wantError(t, tenants.Of(db, "tenants", "b").Delete(ctx, "orders"), persistable.ErrLocked)
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
	wantError(t, all.DeleteLocked(ctx, lock), persistable.ErrLocked, "(inner)")
	if found, _, err := all.LockOf(ctx, "a"); found != lock || err != nil {
		t.Errorf("after a refusal the lock is %v, %v", found, err)
	}
	wantError(t, tenants.Of(db, "tenants", "a").DeleteLocked(ctx, inner), persistable.ErrLocked)
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

// A tenant that was moved has the same bytes, and its records belong to the new name in
// every program that remembers the old one.
func TestMove(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		other := open(t, db.Engine()) // another process, with a cache of its own
		all := tenants.Of(db, "tenants")
		orders := someOrders(t, db, "old", 5)
		must[*Order](t)(OrderStoreOf(other, "old").Get(ctx, orders[0].ID))
		before := contents(t, db, "tenants", "old")
		check(t, all.Move(ctx, "old", "new"))
		equal(t, before, contents(t, db, "tenants", "new"))
		for _, db := range []*persistable.DB{db, other} {
			was, is := OrderStoreOf(db, "old"), OrderStoreOf(db, "new")
			wantError(t, second(was.Get(ctx, orders[0].ID)), persistable.ErrNotFound)
			wantError(t, was.SaveExisting(ctx, orders[0]), persistable.ErrNotFound)
			o := must[*Order](t)(is.ByNumber(ctx, "0003"))
			if o.TenantID != "new" {
				t.Errorf("a record of the moved tenant belongs to %q", o.TenantID)
			}
			o.Amount++
			check(t, is.Save(ctx, o))
			check(t, is.Update(ctx, o.ID, func(o *Order) error { o.Amount++; return nil }))
			sound(t, is.Indexes().Verify)
		}
		check(t, OrderStoreOf(other, "old").Create(ctx, OrderStoreOf(other, "old").New(Order{Number: "0003", CreatedAt: day0})))
		if n := must[int](t)(OrderStoreOf(db, "new").Scan().Count(ctx)); n != 5 {
			t.Errorf("the moved tenant has %d records", n)
		}
		wantError(t, all.Move(ctx, "old", "new"), tenants.ErrExists)
		wantError(t, all.Move(ctx, "missing", "newer"), tenants.ErrNotFound)
	})
}

// A record of several chunks, and a covering index, of a moved tenant have the new name
// as well; and what Save writes then has only the new one.
func TestMoveLargeRecords(t *testing.T) {
	db := open(t, enginetest.Open(t))
	someNotes(t, NoteStoreOf(db, "old"), "old", 10)
	check(t, tenants.Of(db, "rooms").Move(ctx, "old", "new"))
	s := NoteStoreOf(db, "new")
	sound(t, s.Indexes().Verify)
	for id := range int64(10) {
		n := must[*Note](t)(s.Get(ctx, id+1))
		if n.Room != "new" {
			t.Fatalf("note %d is of %q", n.ID, n.Room)
		}
		check(t, s.Save(ctx, n))
	}
	for n, err := range s.ByTitle("title 0").All(ctx) {
		check(t, err)
		if n.Room != "new" {
			t.Errorf("the index has a note of %q", n.Room)
		}
	}
	sound(t, s.Indexes().Verify)
	fresh := open(t, enginetest.Open(t))
	someNotes(t, NoteStoreOf(fresh, "new"), "new", 10)
	equal(t, entries(contents(t, fresh, "rooms", "new")), entries(contents(t, db, "rooms", "new")))
}

// entries returns the pairs of indexes, without the tokens in covered records.
func entries(all map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		if strings.Contains(key, "]\x02I\x00") {
			kept[key] = value[min(len(value), 10):]
		}
	}
	return kept
}

// A transaction that writes to the tenant and has not committed conflicts with the move.
func TestMoveDuringATransaction(t *testing.T) {
	db := open(t, enginetest.Open(t))
	o := someOrders(t, db, "old", 1)[0]
	s := OrderStoreOf(db, "old")
	tx := must[kv.Transaction](t)(db.Engine().Begin())
	defer tx.Cancel()
	check(t, s.In(db.In(tx)).Delete(ctx, o.ID))
	check(t, tenants.Of(db, "tenants").Move(ctx, "old", "new"))
	if err := tx.Commit(ctx); !kv.IsConflict(err) {
		t.Errorf("Commit = %v, want a conflict", err)
	}
	must[*Order](t)(OrderStoreOf(db, "new").Get(ctx, o.ID))
}

// A tenant whose name is in an index keeps it.
func TestRenameOfAnIndexedName(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "rooms")
	someNotes(t, IndexedNotesOf(db, "a"), "a", 3)
	wantError(t, all.Move(ctx, "a", "b"), tenants.ErrRename, ": Note: the index Note_Room_Title has the field Room, ")
	wantError(t, second(all.Copy(ctx, "a", "b", tenants.CopyOptions{})), tenants.ErrRename)
	if got := names(t, all); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
	check(t, second(tenants.Of(db, "archive").Exists(ctx, "a")))
}

// A stream whose tenant lies under other names further up keeps them too, if an index has one.
func TestImportUnderAnotherPath(t *testing.T) {
	db := open(t, enginetest.Open(t))
	someNotes(t, IndexedNotesOf(db, "a"), "a", 3)
	stream := export(t, tenants.Of(db, "rooms", "a"), "notes")
	for _, path := range [][]string{{"rooms", "b"}, {"b"}, {"archive", "rooms", "b"}, {}} {
		s := tenants.Of(db, path...)
		wantError(t, second(s.Import(ctx, "notes", bytes.NewReader(stream), tenants.ImportOptions{})), tenants.ErrRename, ": Note: the index Note_Room_Title has the field Room, ")
	}
	for _, path := range [][]string{{"archive", "rooms", "a"}, {"a"}} { // the same names, counted from the tenant
		check(t, second(tenants.Of(db, path...).Import(ctx, "notes", bytes.NewReader(stream), tenants.ImportOptions{})))
	}
	someNotes(t, NoteStoreOf(db, "c"), "c", 3)
	stream = export(t, tenants.Of(db, "rooms", "c"), "notes")
	check(t, second(tenants.Of(db, "rooms", "d").Import(ctx, "notes", bytes.NewReader(stream), tenants.ImportOptions{})))
	if got := must[[]*Note](t)(NoteStoreOf(db, "d").ByTitle("title 1").Slice(ctx)); len(got) != 1 || got[0].Room != "d" {
		t.Errorf("%+v", got)
	}
}

// After a lost acknowledgement Move recognizes its own move. If another process has moved the
// tenant on by then, Move says that the outcome is unknown, and leaves another tenant alone
// that has the old name since.
func TestMoveAfterLostAcknowledgement(t *testing.T) {
	for name, test := range map[string]struct {
		moves, creates bool // what another process does before the second attempt
		want           error
		left           []string
	}{
		"own":                        {false, false, nil, []string{"b"}},
		"created again":              {false, true, nil, []string{"a", "b"}},
		"moved on":                   {true, false, kv.ErrOutcomeUnknown, []string{"c"}},
		"moved on and created again": {true, true, kv.ErrOutcomeUnknown, []string{"a", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &enginetest.Lossy{Database: enginetest.Open(t)}
			db, other := open(t, e), open(t, e.Database)
			someOrders(t, db, "a", 2)
			e.Lose(false, func() error {
				if test.moves {
					check(t, tenants.Of(other, "tenants").Move(ctx, "b", "c"))
				}
				if test.creates {
					someOrders(t, other, "a", 1)
				}
				return nil
			})
			wantError(t, tenants.Of(db, "tenants").Move(ctx, "a", "b"), test.want)
			if got := names(t, tenants.Of(db, "tenants")); !slices.Equal(got, test.left) {
				t.Errorf("the tenants are %q, want %q", got, test.left)
			}
		})
	}
}
