// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
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
				"Indexes().Rebuild": s.Indexes().Rebuild(ctx, "Note_Title", persistable.BuildOptions{}), "Transact": db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Delete(ctx, 1) }),
				"a new index": IndexedNotesOf(db, "a").Save(ctx, &Note{ID: 1, Room: "a"}), "Indexes().Build": IndexedNotesOf(db, "a").Indexes().Build(ctx, persistable.BuildOptions{}),
				"Delete all": all.Delete(ctx, "a"), "Move": all.Move(ctx, "a", "c"), "Lock": second(all.Lock(ctx, "a", "")),
			} {
				t.Log(verb)
				wantError(t, err, persistable.ErrLocked, "(export to the archive)", `"rooms"/"a"`)
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
	wantError(t, s.Create(ctx, s.New(Order{Number: "1", CreatedAt: day0})), persistable.ErrLocked)
	o := s.New(Order{Number: "1", CreatedAt: day0})
	wantError(t, db.Transact(ctx, func(tx persistable.Tx) error { return s.In(tx).Create(ctx, o) }), persistable.ErrLocked)
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

// TestLockInterrupted: a Lock leaves no lock if its context ends during its commit, after the
// commit has landed or before.
func TestLockInterrupted(t *testing.T) {
	for name, lands := range map[string]bool{"committed": true, "commits later": false} {
		t.Run(name, func(t *testing.T) {
			engine := &enginetest.Lossy{Database: enginetest.Open(t)}
			db := open(t, engine)
			someOrders(t, db, "a", 1)
			limited, cancel := context.WithCancel(ctx)
			defer cancel()
			var land func() error
			if lands {
				engine.Lose(false, func() error { cancel(); return nil })
			} else {
				land = engine.Interrupt(cancel)
			}
			all := tenants.Of(db, "tenants")
			wantError(t, second(all.Lock(limited, "a", "export")), context.Canceled)
			if !lands {
				if err := land(); !kv.IsConflict(err) {
					t.Errorf("the late commit: %v, want a conflict", err)
				}
			}
			if l, locked, err := all.LockOf(ctx, "a"); locked || err != nil {
				t.Errorf("the tenant has the lock %+v, %v", l, err)
			}
			check(t, all.Unlock(ctx, must[tenants.Lock](t)(all.Lock(ctx, "a", "again"))))
		})
	}
}

// A tenant in which another one is locked is neither moved nor deleted: the inner one would
// change while it is locked.
func TestNestedLock(t *testing.T) {
	db := open(t, enginetest.Open(t))
	outer, inner := tenants.Of(db, "tenants"), tenants.Of(db, "tenants", "a", "projects")
	programKeys(t, db, "tenants", "a", "projects", "p")
	lock := must[tenants.Lock](t)(inner.Lock(ctx, "p", "export"))
	for verb, err := range map[string]error{"Move": outer.Move(ctx, "a", "b"), "Delete": outer.Delete(ctx, "a")} {
		t.Log(verb)
		wantError(t, err, persistable.ErrLocked, `the directory "tenants"/"a"/"projects"/"p" is locked against writes (export)`)
	}
	check(t, inner.Unlock(ctx, lock))
	check(t, outer.Move(ctx, "a", "b"))
	check(t, outer.Delete(ctx, "b"))
}

// The library does not change the directories of a locked tenant: none is removed, moved out or
// in, copied or imported into it, in the tenants that it has in turn, or cleared.
func TestLockOfDirectories(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		outer, inner := tenants.Of(db, "tenants"), tenants.Of(db, "tenants", "a", "projects")
		someOrders(t, db, "a", 3) // its directory is a partition: what is half there is in it, too
		programKeys(t, db, "tenants", "a", "projects", "p")
		p := must[tenants.Lock](t)(inner.Lock(ctx, "p", "a part"))
		check(t, second(inner.Copy(ctx, "p", "q", tenants.CopyOptions{Lock: p})))
		beginCopy(t, inner, "p", "half", tenants.CopyOptions{Lock: p})
		var stream bytes.Buffer
		check(t, second(inner.Export(ctx, "p", &stream, tenants.ExportOptions{Lock: p})))
		must[*directory.Directory](t)(db.Layer().CreateOrOpen(ctx, db.Engine(), []string{"tenants", "plain", "x"}))
		lock := must[tenants.Lock](t)(outer.Lock(ctx, "a", "export"))
		before := contents(t, db, "tenants")
		importTo := func(s *tenants.Set) error {
			return second(s.Import(ctx, "i", bytes.NewReader(stream.Bytes()), tenants.ImportOptions{}))
		}
		for verb, err := range map[string]error{
			"RemoveDirectory of all":     db.RemoveDirectory(ctx, "tenants"),
			"RemoveDirectory":            db.RemoveDirectory(ctx, "tenants", "a"),
			"RemoveDirectory in it":      db.RemoveDirectory(ctx, "tenants", "a", "orders"),
			"MoveDirectory of it":        db.MoveDirectory(ctx, []string{"tenants", "a"}, []string{"tenants", "b"}),
			"MoveDirectory within it":    db.MoveDirectory(ctx, []string{"tenants", "a", "orders"}, []string{"tenants", "a", "y"}),
			"Copy in it":                 second(inner.Copy(ctx, "p", "c", tenants.CopyOptions{Lock: p})),
			"Copy that is continued":     second(inner.Copy(ctx, "p", "half", tenants.CopyOptions{Lock: p})),
			"Import":                     importTo(inner),
			"Import into a new set":      importTo(tenants.Of(db, "tenants", "a", "fresh", "set")),
			"Delete":                     inner.Delete(ctx, "q"),
			"Move":                       inner.Move(ctx, "q", "z"),
			"Abandon":                    inner.Abandon(ctx, "half"),
			"Import in place of a store": importTo(tenants.Of(db, "tenants", "a")),
		} {
			if !errors.Is(err, persistable.ErrLocked) || !strings.Contains(err.Error(), "(export)") && !strings.Contains(err.Error(), "(a part)") {
				t.Errorf("%s: %v", verb, err)
			}
		}
		equal(t, before, contents(t, db, "tenants"))
		check(t, outer.Unlock(ctx, lock))
		check(t, second(inner.Copy(ctx, "p", "half", tenants.CopyOptions{Lock: p})))
		check(t, inner.Unlock(ctx, p))
		check(t, db.RemoveDirectory(ctx, "tenants", "a", "orders"))
		check(t, db.RemoveDirectory(ctx, "tenants"))
	})
}

// Nothing is moved into a locked tenant.
func TestMoveIntoALockedTenant(t *testing.T) {
	db := open(t, enginetest.Open(t))
	rooms := tenants.Of(db, "rooms")
	someNotes(t, NoteStoreOf(db, "a"), "a", 1)
	someNotes(t, NoteStoreOf(db, "b"), "b", 1)
	lock := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "export"))
	into := func() error {
		return db.MoveDirectory(ctx, []string{"rooms", "b"}, []string{"rooms", "a", "b"})
	}
	wantError(t, into(), persistable.ErrLocked)
	check(t, rooms.Unlock(ctx, lock))
	check(t, into())
}

// The rest of a deletion is not cleared in a partition that has been locked since.
func TestSweepOfALockedPartition(t *testing.T) {
	engine := enginetest.Open(t)
	c := &crasher{Database: engine, left: -1}
	db := open(t, c)
	someOrders(t, db, "a", 1)
	inner := tenants.Of(db, "tenants", "a", "projects")
	programKeys(t, db, "tenants", "a", "projects", "p")
	c.left = 1
	wantError(t, inner.Delete(ctx, "p"), errCrash)
	c.left = -1
	lock := must[tenants.Lock](t)(tenants.Of(db, "tenants").Lock(ctx, "a", "export"))
	before := contents(t, db, "tenants", "a")
	wantError(t, second(inner.Sweep(ctx)), persistable.ErrLocked)
	equal(t, before, contents(t, db, "tenants", "a"))
	check(t, tenants.Of(db, "tenants").Unlock(ctx, lock))
	if n := must[int](t)(inner.Sweep(ctx)); n != 1 {
		t.Errorf("%d tenants were cleared", n)
	}
}

// Violations settles what it finds, and so needs a tenant that is not locked.
func TestViolationsOfALockedTenant(t *testing.T) {
	db := open(t, enginetest.Open(t))
	rooms := tenants.Of(db, "rooms")
	someNotes(t, NoteStoreOf(db, "a"), "a", 6)
	s := UniqueNotesOf(db, "a")
	wantAs[*persistable.NotUniqueError](t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	check(t, NoteStoreOf(db, "a").Delete(ctx, 5)) // which shares its title with the first note
	lock := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "export"))
	before := contents(t, db, "rooms", "a")
	violations := func() error { return second(s.Indexes().Violations(ctx, "Note_Title_unique", "")) }
	wantError(t, violations(), persistable.ErrLocked)
	equal(t, before, contents(t, db, "rooms", "a"))
	check(t, rooms.Unlock(ctx, lock))
	check(t, violations())
}

// onWrite calls a function once, before the n-th write.
type onWrite struct {
	bytes.Buffer
	left int
	do   func()
}

func (w *onWrite) Write(b []byte) (int, error) {
	if w.left--; w.left == 0 {
		w.do()
	}
	return w.Buffer.Write(b)
}

// A program that does not look at locks removes a directory of a locked tenant, or puts another
// one in its place, while the tenant is exported or copied: the result would be no state that it
// ever had.
func TestDirectoriesChangeUnderALock(t *testing.T) {
	for name, again := range map[string]bool{"removed": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			rooms, path := tenants.Of(db, "rooms"), []string{"rooms", "a", "notes"}
			someNotes(t, NoteStoreOf(db, "a"), "a", 20)
			lock := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "export"))
			change := func() {
				check(t, db.Layer().Remove(ctx, db.Engine(), path))
				if again {
					must[*directory.Directory](t)(db.Layer().Create(ctx, db.Engine(), path))
				}
			}
			out := &onWrite{left: 3, do: change} // after the magic and the list of directories, and one block
			wantError(t, second(rooms.Export(ctx, "a", out, tenants.ExportOptions{Lock: lock})), tenants.ErrLockLost)
			was := must[*tenants.Stream](t)(tenants.Inspect(bytes.NewReader(out.Bytes())))
			if !again {
				wantError(t, second(rooms.Export(ctx, "a", out, tenants.ExportOptions{Lock: lock, Resume: was})), tenants.ErrLockLost)
			}
		})
	}
}

// A copy that is continued under its lock after a program has removed or replaced a directory of
// the tenant fails, and does not take one directory for another.
func TestCopyContinuesInAnotherTree(t *testing.T) {
	for name, again := range map[string]bool{"removed": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			db := open(t, enginetest.Open(t))
			rooms, sibling := tenants.Of(db, "rooms"), []string{"rooms", "a", "a sibling"}
			someNotes(t, NoteStoreOf(db, "a"), "a", 20)
			must[*directory.Directory](t)(db.Layer().Create(ctx, db.Engine(), sibling))
			lock := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "copy"))
			beginCopy(t, rooms, "a", "b", tenants.CopyOptions{Lock: lock})
			check(t, db.Layer().Remove(ctx, db.Engine(), sibling))
			if again {
				must[*directory.Directory](t)(db.Layer().Create(ctx, db.Engine(), sibling))
			}
			err := second(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock}))
			wantError(t, err, tenants.ErrLockLost)
			if errors.Is(err, tenants.ErrUnfinished) || must[bool](t)(rooms.Exists(ctx, "b")) {
				t.Errorf("%v; the tenants are %q", err, names(t, rooms))
			}
			check(t, rooms.Abandon(ctx, "b"))
			check(t, second(rooms.Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock})))
		})
	}
}
