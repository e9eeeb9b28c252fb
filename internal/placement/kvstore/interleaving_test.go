// SPDX-License-Identifier: Apache-2.0

package kvstore_test

import (
	"context"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// interposedDatabase is a database that runs a function before the first commit, or after it:
// then the commit's acknowledgement is lost.
type interposedDatabase struct {
	kv.Database
	once          sync.Once
	before, after func()
}

func (d *interposedDatabase) Begin() (kv.Transaction, error) {
	tx, err := d.Database.Begin()
	return interposedTx{tx, d}, err
}

func (d *interposedDatabase) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

type interposedTx struct {
	kv.Transaction
	db *interposedDatabase
}

func (t interposedTx) Commit(ctx context.Context) (err error) {
	lost := false
	t.db.once.Do(func() {
		if lost = t.db.after != nil; !lost {
			t.db.before()
			return
		}
		if err = t.Transaction.Commit(ctx); err == nil {
			t.db.after()
			err = kv.NewError(kv.CodeCommitUnknownResult, "made up")
		}
	})
	if lost {
		return err
	}
	return t.Transaction.Commit(ctx)
}

// scene has a key that member one has claimed under epoch 1 and confirmed.
type scene struct {
	t     *testing.T
	db    kv.Database
	store *kvstore.Store
	lease core.Lease // of member one
}

func newScene(t *testing.T) *scene {
	db := enginetest.Open(t)
	s := &scene{t: t, db: db, store: open(t, db)}
	s.lease = acquire(t, s.store, alice, one, 1)
	check(t, s.store.Store(ctx, s.lease, entryOf(s.lease, []byte("first"))))
	return s
}

// takeOver lets member two claim the key of member one, which died.
func (s *scene) takeOver() {
	s.t.Helper()
	kill(s.t, s.db, one)
	acquire(s.t, s.store, alice, two, 1)
}

// replaceEntry makes member two claim the key and confirm.
func (s *scene) replaceEntry() {
	s.t.Helper()
	s.takeOver()
	lease := acquire(s.t, s.store, alice, two, 1)
	check(s.t, s.store.Store(ctx, lease, entryOf(lease, []byte("second"))))
}

// runDuring runs an operation of the store, and something between its last read and its
// commit.
func (s *scene) runDuring(something func(), operation func(*kvstore.Store) error) error {
	s.t.Helper()
	return operation(open(s.t, &interposedDatabase{Database: s.db, before: something}))
}

func (s *scene) row() kvstore.Row { return must[kvstore.Row](s.t)(s.store.Row(ctx, alice)) }
func (s *scene) snapshot() string {
	e := must[*core.ActivationEntry](s.t)(s.store.Load(ctx, alice))
	if e == nil {
		return ""
	}
	return string(e.Record.Snapshot)
}

// confirmWith returns an operation that stores an entry under the lease of member one.
func (s *scene) confirmWith(snapshot string) func(*kvstore.Store) error {
	return func(store *kvstore.Store) error { return store.Store(ctx, s.lease, entryOf(s.lease, []byte(snapshot))) }
}

// TestChangesBeneathOperations: if the ownership changes between the reads and the commit of an
// operation, the outcome is as if one had happened after the other.
func TestChangesBeneathOperations(t *testing.T) {
	t.Run("a takeover beneath a confirmation", func(t *testing.T) {
		s := newScene(t)
		wantError(t, s.runDuring(s.takeOver, s.confirmWith("late")), placement.ErrStale)
		if s.row().Owner != two || s.snapshot() != "first" {
			t.Errorf("the row is %+v, the entry %q", s.row(), s.snapshot())
		}
	})
	t.Run("a confirmation beneath a takeover", func(t *testing.T) {
		s := newScene(t)
		kill(t, s.db, one)
		check(t, s.runDuring(func() { check(t, s.confirmWith("last")(s.store)) }, func(store *kvstore.Store) error {
			lease, err := store.TryAcquire(ctx, claimOf(alice, two, 1))
			if err == nil && (lease.Epoch != 2 || string(lease.Entry.Record.Snapshot) != "last") {
				t.Errorf("the successor got %+v with %q", lease, lease.Entry.Record.Snapshot)
			}
			return err
		}))
	})
	t.Run("an eviction beneath a claim of the evicted", func(t *testing.T) {
		s := newScene(t)
		kill(t, s.db, one)
		wantError(t, s.runDuring(func() { kill(t, s.db, two) }, func(store *kvstore.Store) error {
			_, err := store.TryAcquire(ctx, claimOf(alice, two, 1))
			return err
		}), placement.ErrStale)
		if s.row().Owner != one || s.row().Epoch != 1 {
			t.Errorf("the row is %+v", s.row())
		}
	})
	t.Run("a takeover beneath a takeover", func(t *testing.T) {
		s := newScene(t)
		three := placement.Owner{Name: "three", Incarnation: 1}
		kill(t, s.db, one)
		wantError(t, s.runDuring(func() { acquire(t, s.store, alice, three, 1) }, func(store *kvstore.Store) error {
			_, err := store.TryAcquire(ctx, claimOf(alice, two, 1))
			return err
		}), placement.ErrHeld)
		if s.row().Owner != three || s.row().Epoch != 2 {
			t.Errorf("the row is %+v", s.row())
		}
	})
	ends := map[string]func(*scene, *kvstore.Store) error{
		"release": func(s *scene, store *kvstore.Store) error { return store.Release(ctx, s.lease) },
		"removal": func(s *scene, store *kvstore.Store) error { return store.Remove(ctx, alice, one, s.lease.Epoch) },
	}
	for name, end := range ends {
		t.Run("a takeover beneath a "+name, func(t *testing.T) {
			s := newScene(t)
			wantError(t, s.runDuring(s.takeOver, func(store *kvstore.Store) error { return end(s, store) }), placement.ErrStale)
			if s.row().Owner != two || s.snapshot() != "first" {
				t.Errorf("the row is %+v, the entry %q", s.row(), s.snapshot())
			}
		})
		t.Run("a "+name+" beneath a confirmation", func(t *testing.T) {
			s := newScene(t)
			wantError(t, s.runDuring(func() { check(t, end(s, s.store)) }, s.confirmWith("late")), placement.ErrStale)
			if !s.row().Free() || s.snapshot() != "" {
				t.Errorf("the row is %+v, the entry %q", s.row(), s.snapshot())
			}
		})
		t.Run("a confirmation beneath a "+name, func(t *testing.T) {
			s := newScene(t)
			check(t, s.runDuring(func() { check(t, s.confirmWith("last")(s.store)) }, func(store *kvstore.Store) error { return end(s, store) }))
			if !s.row().Free() || s.snapshot() != "" {
				t.Errorf("the row is %+v, the entry %q", s.row(), s.snapshot())
			}
		})
	}
}

// TestLateWriter: a transaction under the fence of an owner does not commit, and is not repeated,
// if the key was claimed, released or removed between its check and its commit: whether the owner
// was suspended, evicted or only slow.
func TestLateWriter(t *testing.T) {
	changes := map[string]func(*scene){
		"takeover":                 (*scene).takeOver,
		"another claim of its own": func(s *scene) { acquire(s.t, s.store, alice, one, 2) },
		"release":                  func(s *scene) { check(s.t, s.store.Release(ctx, s.lease)) },
		"removal":                  func(s *scene) { check(s.t, s.store.Remove(ctx, alice, one, 1)) },
		"release, and a claim of the same member": func(s *scene) {
			check(s.t, s.store.Release(ctx, s.lease))
			acquire(s.t, s.store, alice, one, 2)
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			fence := s.store.Fence(alice, one, s.lease.Epoch)
			tx := begin(t, s.db)
			check(t, fence.Check(ctx, tx))
			tx.Set([]byte("data"), []byte("late"))
			change(s)
			if err := tx.Commit(ctx); !kv.IsConflict(err) {
				t.Errorf("the commit: %v, want a conflict", err)
			}
			attempts := 0
			err := fence.Under(s.db).Transact(ctx, func(tx kv.Transaction) error {
				attempts++
				tx.Set([]byte("data"), []byte("late"))
				return nil
			})
			wantError(t, err, leasefdb.ErrLeaseLost)
			wantError(t, err, placement.ErrActivationLost)
			if attempts != 1 {
				t.Errorf("tried %d times", attempts)
			}
		})
	}
}

// TestOwnerConflictsWithNothing: while an owner has the key, its data transactions do not conflict
// with confirmations, repeated claims, refused claims or its eviction; nor do these conflict with
// confirmations.
func TestOwnerConflictsWithNothing(t *testing.T) {
	s := newScene(t)
	data := func(tx kv.Transaction) kv.Transaction {
		check(t, s.store.Fence(alice, one, s.lease.Epoch).Check(ctx, tx))
		tx.Set([]byte("data"), []byte("x"))
		return tx
	}
	tx := data(begin(t, s.db))
	check(t, s.confirmWith("second")(s.store))
	if again := acquire(t, s.store, alice, one, 1); again.Epoch != s.lease.Epoch {
		t.Errorf("the claim repeated got epoch %d", again.Epoch)
	}
	_, err := s.store.TryAcquire(ctx, claimOf(alice, two, 1))
	wantError(t, err, placement.ErrHeld)
	kill(t, s.db, one) // it has the key until another member claims it
	check(t, tx.Commit(ctx))

	runs := 0
	check(t, s.runDuring(func() { check(t, data(begin(t, s.db)).Commit(ctx)) }, func(store *kvstore.Store) error {
		runs++
		return s.confirmWith("third")(store)
	}))
	if runs != 1 || s.snapshot() != "third" {
		t.Errorf("the confirmation ran %d times; the entry is %q", runs, s.snapshot())
	}
}
