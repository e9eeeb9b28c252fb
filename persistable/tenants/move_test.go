// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

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
	e := wantAs[*tenants.RenameError](t, all.Move(ctx, "a", "b"))
	if e.Type != "Note" || e.Index != "Note_Room_Title" || e.Field != "Room" {
		t.Errorf("%+v", e)
	}
	wantAs[*tenants.RenameError](t, second(all.Copy(ctx, "a", "b", tenants.CopyOptions{})))
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
		e := wantAs[*tenants.RenameError](t, second(s.Import(ctx, "notes", bytes.NewReader(stream), tenants.ImportOptions{})))
		if e.Type != "Note" || e.Index != "Note_Room_Title" || e.Field != "Room" {
			t.Errorf("%q: %+v", path, e)
		}
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
