// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// crasher is an engine after some commits of which no transaction commits any more, as
// in a process that has crashed. The last commit is lost, or only its acknowledgement.
type crasher struct {
	kv.Database
	left     int // commits until then; negative: it never crashes
	lostOnly bool
}

var errCrash = errors.New("the process crashed")

func (c *crasher) Begin() (kv.Transaction, error) {
	tx, err := c.Database.Begin()
	return &crasherTx{tx, c}, err
}

// crasherTx does not embed the engine: it would be a database itself, whose transactions are
// others.
type crasherTx struct {
	kv.Transaction
	engine *crasher
}

func (t *crasherTx) Commit(ctx context.Context) error {
	switch c := t.engine; {
	case c.left < 0:
		return t.Transaction.Commit(ctx)
	case c.left > 0:
		c.left--
		return t.Transaction.Commit(ctx)
	case c.lostOnly:
		c.lostOnly = false
		if err := t.Transaction.Commit(ctx); err != nil {
			return err
		}
	}
	return errCrash
}

// crash runs a verb again and again, each time in another process that crashes one
// commit later than the one before, until one comes to the end.
func crash(t *testing.T, engine kv.Database, verb func(*persistable.DB) error, between func(*testing.T, *persistable.DB)) {
	t.Helper()
	for i := 0; ; i++ {
		c := &crasher{Database: engine, left: -1}
		db := open(t, c)
		c.left, c.lostOnly = i/2, i%2 == 1
		err := verb(db)
		c.left = -1
		if err == nil {
			if i < 4 {
				t.Errorf("there were only %d crashes", i)
			}
			return
		}
		wantError(t, err, errCrash)
		between(t, open(t, engine))
	}
}

// A copy, an import, a count and a deletion that crash after any commit, with or
// without the acknowledgement, are continued by the next process.
func TestCrashes(t *testing.T) {
	engine := enginetest.Open(t)
	db := open(t, engine)
	rooms := tenants.Of(db, "rooms")
	check(t, rooms.Delete(ctx, func() string { someNotes(t, NoteStoreOf(db, "first"), "first", 1); return "first" }()))
	empty := keys(t, db)
	someNotes(t, NoteStoreOf(db, "a"), "a", 60)
	programKeys(t, db, "rooms", "a")
	before := contents(t, db, "rooms", "a")
	invisible := func(t *testing.T, db *persistable.DB) {
		for _, name := range names(t, tenants.Of(db, "rooms")) {
			if name != "a" {
				t.Fatalf("%q is visible", name)
			}
		}
	}
	finished := func(err error) error { // by the process that crashed, unnoticed
		if errors.Is(err, tenants.ErrExists) || errors.Is(err, tenants.ErrNotFound) {
			return nil
		}
		return err
	}
	lock := must[tenants.Lock](t)(rooms.Lock(ctx, "a", "copy"))
	stream := &bytes.Buffer{}
	must[tenants.Progress](t)(rooms.Export(ctx, "a", stream, tenants.ExportOptions{Lock: lock}))
	crash(t, engine, func(db *persistable.DB) error {
		return finished(second(tenants.Of(db, "rooms").Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock})))
	}, whole(before, "b"))
	equal(t, before, contents(t, db, "rooms", "b"))
	check(t, rooms.Delete(ctx, "b"))
	crash(t, engine, func(db *persistable.DB) error {
		return finished(second(tenants.Of(db, "rooms").Import(ctx, "c", bytes.NewReader(stream.Bytes()), tenants.ImportOptions{})))
	}, whole(before, "c"))
	equal(t, before, contents(t, db, "rooms", "c"))
	crash(t, engine, func(db *persistable.DB) error {
		return second(tenants.Of(db, "rooms").Import(ctx, "d", bytes.NewReader(stream.Bytes()), tenants.ImportOptions{LockReason: "it arrives"}))
	}, whole(before, "d"))
	arrived, _, err := rooms.LockOf(ctx, "d")
	check(t, err)
	crash(t, engine, func(db *persistable.DB) error {
		return finished(tenants.Of(db, "rooms").DeleteLocked(ctx, arrived))
	}, whole(before, "d"))
	check(t, rooms.Delete(ctx, "c"))
	check(t, rooms.Unlock(ctx, lock))
	s := NoteStoreOf(db, "a")
	n := int64(1000)
	crash(t, engine, func(db *persistable.DB) error {
		return tenants.Of(db, "rooms").SetQuota(ctx, "a", tenants.Quota{Records: 2000})
	}, func(t *testing.T, _ *persistable.DB) {
		n++
		check(t, s.Save(ctx, &Note{ID: n, Room: "a", Body: []byte{2}}))
		check(t, s.Delete(ctx, n-990))
	})
	wantUsage(t, db, "rooms", "a")
	crash(t, engine, func(db *persistable.DB) error { return finished(tenants.Of(db, "rooms").Delete(ctx, "a")) }, invisible)
	if after := keys(t, db); after != empty {
		t.Errorf("%d keys are left, %d before", after, empty)
	}
}

// whole fails if the tenant is there in part.
func whole(want map[string]string, name string) func(*testing.T, *persistable.DB) {
	return func(t *testing.T, db *persistable.DB) {
		t.Helper()
		if must[bool](t)(tenants.Of(db, "rooms").Exists(ctx, name)) {
			equal(t, want, contents(t, db, "rooms", name))
		}
	}
}

// A write that began before a step of a count, and whose record the step counts, does not
// commit after it.
func TestCountConflictsWithWrites(t *testing.T) {
	engine := enginetest.Open(t)
	c := &crasher{Database: engine, left: -1}
	db := open(t, c)
	rooms, s := tenants.Of(db, "rooms"), NoteStoreOf(db, "a")
	for id := range int64(20) {
		check(t, s.Save(ctx, &Note{ID: id + 1, Room: "a", Body: bytes.Repeat([]byte{2}, 90_000)}))
	}
	steps := func(n int) {
		t.Helper()
		c.left = n
		wantError(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}), errCrash)
		c.left = -1
	}
	steps(1) // the quota is set, and nothing is counted
	for _, id := range []int64{1, 20} {
		conflicts := id == 1 // each step counts some of the first notes, and not the last one
		tx := must[kv.Transaction](t)(engine.Begin())
		defer tx.Cancel()
		check(t, s.In(db.In(tx)).Save(ctx, &Note{ID: id, Room: "a", Body: []byte{2}}))
		steps(2)
		if err := tx.Commit(ctx); kv.IsConflict(err) != conflicts || !conflicts && err != nil {
			t.Errorf("Commit of the note %d = %v, want a conflict: %v", id, err, conflicts)
		}
	}
	check(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
	wantUsage(t, db, "rooms", "a")
}

// Records that were counted grow before the next step of the count: their new chunks are
// not taken for records.
func TestCountedRecordsGrow(t *testing.T) {
	c := &crasher{Database: enginetest.Open(t), left: -1}
	db := open(t, c)
	rooms, s := tenants.Of(db, "rooms"), NoteStoreOf(db, "a")
	save := func(size int) {
		t.Helper()
		for id := range int64(20) {
			check(t, s.Save(ctx, &Note{ID: id + 1, Room: "a", Body: bytes.Repeat([]byte{2}, size)}))
		}
	}
	save(90_000)
	c.left = 2 // the quota is set, and a part of the records is counted
	wantError(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}), errCrash)
	c.left = -1
	save(250_000)
	check(t, rooms.SetQuota(ctx, "a", tenants.Quota{Records: 100}))
	wantUsage(t, db, "rooms", "a")
	save(90_000)
	wantUsage(t, db, "rooms", "a")
}
