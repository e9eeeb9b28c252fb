// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// A locked tenant is read, and not written, by all programs: also not by a transaction
// that began before, nor through a type that has no store there yet.
func TestLock(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		other := open(t, db.Engine())
		all := tenants.Of(db, "rooms")
		someNotes(t, NoteStoreOf(db, "a"), "a", 2)
		someNotes(t, NoteStoreOf(other, "b"), "b", 1)
		lock := must[tenants.Lock](t)(all.Lock(ctx, "a", "export to the archive"))
		before := contents(t, db, "rooms", "a")
		for _, db := range []*persistable.DB{db, other} {
			s := NoteStoreOf(db, "a")
			for verb, err := range map[string]error{
				"Save": s.Save(ctx, &Note{ID: 1, Room: "a"}), "Create": s.Create(ctx, &Note{ID: 9, Room: "a"}), "Delete": s.Delete(ctx, 1),
				"Update": s.Update(ctx, 1, func(n *Note) error { n.Title = "x"; return nil }), "SaveExisting": s.SaveExisting(ctx, &Note{ID: 1, Room: "a"}),
				"Indexes().Rebuild": s.Indexes().Rebuild(ctx, "Note_Title"), "Transact": db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Delete(ctx, 1) }),
				"a new index": IndexedNotesOf(db, "a").Save(ctx, &Note{ID: 1, Room: "a"}), "Indexes().Build": IndexedNotesOf(db, "a").Indexes().Build(ctx),
				"Delete all": all.Delete(ctx, "a"), "Move": all.Move(ctx, "a", "c"), "Lock": second(all.Lock(ctx, "a", "")),
			} {
				if e := wantAs[*persistable.LockedError](t, err); e.Reason != "export to the archive" || !strings.Contains(e.Error(), `"rooms"/"a"`) {
					t.Errorf("%s: %v", verb, e)
				}
			}
			must[*Note](t)(s.Get(ctx, 1))
			if n := must[int](t)(s.ByTitle("title 0").Count(ctx)); n != 1 {
				t.Errorf("%d notes", n)
			}
			check(t, NoteStoreOf(db, "b").Save(ctx, &Note{ID: 1, Room: "b"}))
		}
		equal(t, before, contents(t, db, "rooms", "a"))
		found, locked, err := all.LockOf(ctx, "a")
		if err != nil || !locked || found != lock {
			t.Errorf("LockOf = %v, %v, %v", found, locked, err)
		}
		wantError(t, all.Unlock(ctx, tenants.Lock{Tenant: "a", ID: "another"}), tenants.ErrLockLost)
		wantError(t, all.Unlock(ctx, tenants.Lock{Tenant: "a"}), tenants.ErrLockLost)
		check(t, all.Unlock(ctx, lock))
		wantError(t, all.Unlock(ctx, lock), tenants.ErrLockLost)
		check(t, NoteStoreOf(other, "a").Save(ctx, &Note{ID: 1, Room: "a"}))
	})
}

func TestLockDuringATransaction(t *testing.T) {
	for name, cached := range map[string]bool{"store cached": true, "store new": false} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			all := tenants.Of(db, "tenants")
			someOrders(t, db, "a", 1)
			s := OrderStoreOf(db, "a")
			if cached {
				must[[]*Order](t)(s.Scan().Slice(ctx))
			}
			tx := must[kv.Transaction](t)(db.Engine().Begin())
			defer tx.Cancel()
			check(t, s.In(db.In(tx)).Create(ctx, s.New(Order{Number: "held", CreatedAt: day0})))
			lock := must[tenants.Lock](t)(all.Lock(ctx, "a", "copy"))
			if err := tx.Commit(ctx); !kv.IsConflict(err) {
				t.Errorf("Commit = %v, want a conflict", err)
			}
			check(t, all.Unlock(ctx, lock))
		})
	}
}

// A type without a store in a locked tenant gets none.
func TestLockOfANewStore(t *testing.T) {
	db := open(t, enginetest.Open(t))
	check(t, must2(tenants.Of(db, "tenants").Lock(ctx, somewhat(t, db, "a"), "copy")))
	check(t, must2(tenants.Of(db, "tenants", "a").Lock(ctx, "orders", "another")))
	check(t, db.Layer().Remove(ctx, db.Engine(), []string{"tenants", "a", "orders"}))
	s := OrderStoreOf(db, "a")
	wantAs[*persistable.LockedError](t, s.Create(ctx, s.New(Order{Number: "1", CreatedAt: day0})))
	o := s.New(Order{Number: "1", CreatedAt: day0})
	wantAs[*persistable.LockedError](t, db.Transact(ctx, func(tx persistable.Tx) error {
		return s.In(tx).Create(ctx, o)
	}))
}

func must2[T any](_ T, err error) error { return err }

// Between Lock and Unlock nothing changes, whatever writers try.
func TestLockHoldsAgainstWriters(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all := tenants.Of(db, "tenants")
		someOrders(t, db, "a", 1)
		var end atomic.Bool
		var writers sync.WaitGroup
		written, refused := new(atomic.Int64), new(atomic.Int64)
		for range 4 {
			writers.Go(func() {
				s := OrderStoreOf(db, "a")
				for !end.Load() {
					o := s.New(Order{CreatedAt: day0})
					o.Number = o.ID.String()
					switch err := s.Create(ctx, o); {
					case err == nil:
						written.Add(1)
					case isLocked(err):
						refused.Add(1)
					default:
						t.Error(err)
						return
					}
				}
			})
		}
		for range 5 {
			lock := must[tenants.Lock](t)(all.Lock(ctx, "a", "look"))
			before, done := contents(t, db, "tenants", "a"), written.Load()
			for seen := refused.Load(); refused.Load() == seen && !t.Failed(); { // until a writer has come
				if must[bool](t)(all.Exists(ctx, "a")); written.Load() > done+4 { // each had perhaps written before
					t.Error("writers go on")
				}
			}
			equal(t, before, contents(t, db, "tenants", "a"))
			check(t, all.Unlock(ctx, lock))
			for seen := written.Load(); written.Load() == seen && !t.Failed(); {
				must[bool](t)(all.Exists(ctx, "a"))
			}
		}
		end.Store(true)
		writers.Wait()
		sound(t, OrderStoreOf(db, "a").Indexes().Verify)
	})
}
