// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// The records of a batch count one after the other: those that fit are written, and
// the batch stops at the first that does not.
func TestQuotaOfBatches(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all := tenants.Of(db, "tenants")
		check(t, all.SetQuota(ctx, somewhat(t, db, "a"), tenants.Quota{Records: 6}))
		s := OrderStoreOf(db, "a")
		var more []*Order
		for i := range 20 {
			more = append(more, s.New(Order{Number: fmt.Sprint("more ", i), CreatedAt: day0}))
		}
		for name, put := range map[string]error{
			"CreateMany": s.CreateMany(ctx, more, persistable.BatchOptions{}),
			"SaveMany":   s.SaveMany(ctx, more, persistable.BatchOptions{}),
		} {
			e := wantAs[*persistable.PartialError](t, put)
			wantError(t, put, persistable.ErrQuota, "has 6 records, and a quota of 6: 1 more are")
			if e.Done != 5 {
				t.Errorf("%s: %v", name, put)
			}
			wantUsage(t, db, "tenants", "a")
		}
		if n := must[int](t)(s.DeleteWhere(ctx, s.Scan(), persistable.BatchOptions{})); n != 6 {
			t.Errorf("%d records were deleted, want 6", n)
		}
		wantUsage(t, db, "tenants", "a")
		check(t, s.CreateMany(ctx, more[:6], persistable.BatchOptions{}))
		wantUsage(t, db, "tenants", "a")
	})
}

// Update counts what it adds, and is refused beyond the quota, also where several run
// in one transaction.
func TestQuotaOfUpdates(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	orders := someOrders(t, db, "a", 2)
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Records: 10}))
	used := must[tenants.Usage](t)(all.Usage(ctx, "a"))
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Bytes: used.Bytes + 30}))
	s := OrderStoreOf(db, "a")
	lengthen := func(s *OrderStore, id idgen.ID) error {
		return s.Update(ctx, id, func(o *Order) error { o.Number += strings.Repeat("x", 20); return nil })
	}
	check(t, lengthen(s, orders[0].ID))
	wantUsage(t, db, "tenants", "a")
	wantError(t, lengthen(s, orders[1].ID), persistable.ErrQuota, fmt.Sprintf("has %d bytes, ", used.Bytes+20))
	check(t, s.Update(ctx, orders[0].ID, func(o *Order) error { o.Number = o.Number[:len(o.Number)-20]; return nil }))
	wantUsage(t, db, "tenants", "a")

	// The second update was read before the first was written.
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		return s.In(tx).Update(ctx, orders[0].ID, func(o *Order) error {
			o.Number += strings.Repeat("x", 20)
			return lengthen(s.In(tx), orders[1].ID)
		})
	})
	wantError(t, err, persistable.ErrQuota)
	wantUsage(t, db, "tenants", "a")
}

// wantCount compares the usage of a tenant with the records that there should be, and with those
// that are there.
func wantCount(t *testing.T, db *persistable.DB, what string, records int64) {
	t.Helper()
	wantUsage(t, db, "rooms", "a")
	if u := must[tenants.Usage](t)(tenants.Of(db, "rooms").Usage(ctx, "a")); u.Records != records {
		t.Errorf("%s: the usage is %+v, want %d records", what, u, records)
	}
}

// The usage of a tenant follows what comes into it and leaves it in whole directories: removals,
// moves, and the copies, imports and deletions of the tenants in it.
func TestQuotaOfDirectories(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		rooms, inner := tenants.Of(db, "rooms"), tenants.Of(db, "rooms", "a", "parts")
		someNotes(t, NoteStoreOf(db, "a"), "a", 7)
		someNotes(t, NoteStoreOf(db, "b"), "b", 5)
		quota := tenants.Quota{Records: 10}
		check(t, rooms.SetQuota(ctx, "a", quota))
		root := must[*directory.Directory](t)(db.Layer().CreateOrOpen(ctx, db.Engine(), []string{"rooms", "a", "parts"}))
		wantCount(t, db, "SetQuota", 7)

		check(t, db.MoveDirectory(ctx, []string{"rooms", "b", "notes"}, append(root.Path(), "p")))
		wantCount(t, db, "moved in", 12)
		wantError(t, NoteStoreOf(db, "a").Save(ctx, &Note{ID: 100, Room: "a"}), persistable.ErrQuota)
		check(t, db.MoveDirectory(ctx, append(root.Path(), "p"), append(root.Path(), "q")))
		wantCount(t, db, "moved within", 12)
		lock := must[tenants.Lock](t)(inner.Lock(ctx, "q", "copy"))
		check(t, second(inner.Copy(ctx, "q", "r", tenants.CopyOptions{Lock: lock})))
		wantCount(t, db, "Copy", 17)
		var stream bytes.Buffer
		check(t, second(inner.Export(ctx, "q", &stream, tenants.ExportOptions{Lock: lock})))
		check(t, inner.Unlock(ctx, lock))
		check(t, second(inner.Import(ctx, "s", &stream, tenants.ImportOptions{})))
		wantCount(t, db, "Import", 22)
		check(t, inner.Delete(ctx, "q"))
		wantCount(t, db, "Delete", 17)
		check(t, db.MoveDirectory(ctx, append(root.Path(), "r"), []string{"rooms", "b", "notes"}))
		wantCount(t, db, "moved out", 12)
		check(t, db.RemoveDirectory(ctx, "rooms", "a", "notes"))
		wantCount(t, db, "removed", 5)
		check(t, NoteStoreOf(db, "a").Save(ctx, &Note{ID: 1, Room: "a"}))
		check(t, db.RemoveDirectory(ctx, root.Path()...))
		wantCount(t, db, "all removed", 1)
	})
}

// In a partition, what is not there yet or not any more is not counted.
func TestQuotaOfAPartition(t *testing.T) {
	engine := enginetest.Open(t)
	c := &crasher{Database: engine, left: -1}
	db := open(t, c)
	all, inner := tenants.Of(db, "tenants"), tenants.Of(db, "tenants", "a", "parts")
	someOrders(t, db, "a", 3)
	s := NoteStoreOf(db, "x")
	someNotes(t, s, "x", 15)
	stream := export(t, tenants.Of(db, "rooms"), "x")
	check(t, second(inner.Import(ctx, "p", bytes.NewReader(stream), tenants.ImportOptions{})))
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
	want := func(what string, records int64, counting bool) {
		t.Helper()
		if u := must[tenants.Usage](t)(all.Usage(ctx, "a")); u.Records != records || u.Counting != counting {
			t.Errorf("%s: %+v, want %d records", what, u, records)
		}
	}
	want("SetQuota", 18, false)
	c.left = 1
	wantError(t, inner.Delete(ctx, "p"), errCrash)
	c.left = 3
	wantError(t, second(inner.Import(ctx, "q", bytes.NewReader(stream), tenants.ImportOptions{})), errCrash)
	c.left = -1
	want("interrupted", 0, true)
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
	want("counted", 3, false)
	check(t, inner.Delete(ctx, "p"))
	check(t, second(inner.Import(ctx, "q", bytes.NewReader(stream), tenants.ImportOptions{})))
	want("continued", 18, false)
}

// A change of directories that crashes after any commit leaves a count that SetQuota continues.
func TestQuotaAfterCrashes(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	rooms := tenants.Of(db, "rooms")
	for left := range 4 {
		someNotes(t, NoteStoreOf(db, "a"), "a", 15)
		check(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
		c := &crasher{Database: engine, left: -1}
		crashing := open(t, c)
		c.left = left
		err := crashing.RemoveDirectory(ctx, "rooms", "a", "notes")
		c.left = -1
		u := must[tenants.Usage](t)(rooms.Usage(ctx, "a"))
		if gone := recount(t, db, "rooms", "a").Records == 0; gone && !u.Counting && u.Records != 0 || err == nil && u.Counting {
			t.Errorf("after %d commits, %v: %+v", left, err, u)
		}
		check(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
		wantUsage(t, db, "rooms", "a")
	}
}

// A step of a count conflicts with writes of its own tenant only.
func TestCountLeavesOthersAlone(t *testing.T) {
	engine := enginetest.Open(t)
	c := &crasher{Database: engine, left: -1}
	db := open(t, c)
	rooms := tenants.Of(db, "rooms")
	others, a := []string{}, []string{"rooms", "a"}
	for i := range 6 { // directories before, between and after those of the tenant
		others = append(others, fmt.Sprint("other ", i))
		someNotes(t, NoteStoreOf(db, others[i]), others[i], 1)
		at := append(a[:2:2], fmt.Sprint("more ", i))
		check(t, second(db.Layer().CreateOrOpen(ctx, engine, at)))
	}
	for id := range int64(20) {
		check(t, NoteStoreOf(db, "a").Save(ctx, &Note{ID: id + 1, Room: "a", Body: bytes.Repeat([]byte{2}, 90_000)}))
	}
	c.left = 1 // the quota is set, and nothing is counted
	wantError(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}), errCrash)
	c.left = -1
	save := func(name string, id int64) kv.Transaction {
		tx := must[kv.Transaction](t)(engine.Begin())
		t.Cleanup(tx.Cancel)
		check(t, NoteStoreOf(db, name).In(db.In(tx)).Save(ctx, &Note{ID: id, Room: name, Body: []byte{2}}))
		return tx
	}
	var open []kv.Transaction
	for _, name := range others {
		must[[]*Note](t)(NoteStoreOf(db, name).Scan().Slice(ctx)) // their stores are known
		open = append(open, save(name, 1))
	}
	c.left = 2
	wantError(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}), errCrash)
	c.left = -1
	for i, tx := range open {
		if err := tx.Commit(ctx); err != nil {
			t.Errorf("%s: %v", others[i], err)
		}
	}
	check(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
	wantUsage(t, db, "rooms", "a")
}

// A transaction that makes a store in the tenant conflicts with each step of the count that it
// does not see, wherever the new directory's keys are.
func TestCountConflictsWithNewStores(t *testing.T) {
	engine := enginetest.Open(t)
	c := &crasher{Database: engine, left: -1}
	db := open(t, c)
	tops := tenants.Of(db)
	for id := range int64(20) {
		check(t, NoteStoreOf(db, "a").Save(ctx, &Note{ID: id + 1, Room: "a", Body: bytes.Repeat([]byte{2}, 90_000)}))
	}
	for _, left := range []int{1, 2} {
		c.left = left
		wantError(t, tops.SetQuota(ctx, "rooms", tenants.Quota{Records: 100}), errCrash)
		c.left = -1
		tx := must[kv.Transaction](t)(engine.Begin())
		t.Cleanup(tx.Cancel)
		check(t, NoteStoreOf(db, "new").In(db.In(tx)).Save(ctx, &Note{ID: 1, Room: "new", Body: []byte{2}}))
		c.left = 2
		wantError(t, tops.SetQuota(ctx, "rooms", tenants.Quota{Records: 100}), errCrash)
		c.left = -1
		if err := tx.Commit(ctx); !kv.IsConflict(err) {
			t.Errorf("after %d commits: %v, want a conflict", left, err)
		}
	}
	check(t, tops.SetQuota(ctx, "rooms", tenants.Quota{Records: 100}))
	if u := must[tenants.Usage](t)(tops.Usage(ctx, "rooms")); u.Records != 20 || u.Counting {
		t.Errorf("%+v", u)
	}
}
