// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
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
		return finished(second(tenants.Of(db, "rooms").Copy(ctx, "a", "b", tenants.CopyOptions{Lock: lock, Lease: time.Millisecond})))
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

// What a process that a test starts is to do, and where.
const (
	childTask = "TENANTS_TEST_TASK"
	childDir  = "TENANTS_TEST_DIR"
)

// tasks are what the processes do until they are killed.
var tasks = map[string]func(db *persistable.DB, dir string) error{
	"delete": func(db *persistable.DB, _ string) error {
		err := tenants.Of(db, "rooms").Delete(ctx, "a")
		if errors.Is(err, tenants.ErrNotFound) {
			return nil
		}
		return err
	},
	"import": func(db *persistable.DB, dir string) error {
		f, err := os.Open(filepath.Join(dir, "stream"))
		if err != nil {
			return err
		}
		_, err = tenants.Of(db, "rooms").Import(ctx, "b", f, tenants.ImportOptions{})
		if errors.Is(err, tenants.ErrExists) {
			return nil
		}
		return err
	},
	"copy": func(db *persistable.DB, _ string) error {
		rooms := tenants.Of(db, "rooms")
		lock, locked, err := rooms.LockOf(ctx, "a")
		if err == nil && !locked {
			lock, err = rooms.Lock(ctx, "a", "copy")
		}
		if err == nil {
			_, err = rooms.Copy(ctx, "a", "c", tenants.CopyOptions{Lock: lock, Workers: 3, Lease: 10 * time.Millisecond})
		}
		if errors.Is(err, tenants.ErrExists) {
			return nil
		}
		return err
	},
	"quota": func(db *persistable.DB, _ string) error {
		return tenants.Of(db, "rooms").SetQuota(ctx, "a", tenants.Quota{Records: 1000})
	},
}

// runChild opens the database, says so, does the task and says so.
func runChild(task, dir string) {
	err := withDatabase(dir, func(db *persistable.DB) error {
		fmt.Println("open")
		return tasks[task](db, dir)
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("done")
}

func withDatabase(dir string, fn func(*persistable.DB) error) error {
	engine, err := embedded.Open(filepath.Join(dir, "db"))
	if err != nil {
		return err
	}
	db, err := persistable.Open(ctx, engine)
	if err == nil {
		err = errors.Join(fn(db), db.Close())
	}
	return errors.Join(err, engine.Close())
}

// TestKill kills processes that delete, import, copy and count a tenant, at random
// moments, until one of them comes to the end. No part of a tenant is ever visible, and
// at the end all is as if no process had been killed.
func TestKill(t *testing.T) {
	for task, verify := range map[string]func(t *testing.T, db *persistable.DB, before map[string]string, keysBefore int){
		"delete": func(t *testing.T, db *persistable.DB, _ map[string]string, empty int) {
			if got := names(t, tenants.Of(db, "rooms")); len(got) != 0 || keys(t, db) > empty {
				t.Errorf("%q are left, and %d keys, %d before", got, keys(t, db), empty)
			}
		},
		"import": func(t *testing.T, db *persistable.DB, before map[string]string, _ int) {
			equal(t, before, contents(t, db, "rooms", "b"))
		},
		"copy": func(t *testing.T, db *persistable.DB, before map[string]string, _ int) {
			equal(t, before, contents(t, db, "rooms", "c"))
		},
		"quota": func(t *testing.T, db *persistable.DB, _ map[string]string, _ int) {
			wantUsage(t, db, "rooms", "a")
		},
	} {
		t.Run(task, func(t *testing.T) { killUntilDone(t, task, verify) })
	}
}

func killUntilDone(t *testing.T, task string, verify func(*testing.T, *persistable.DB, map[string]string, int)) {
	dir, random := t.TempDir(), seed.Rand(t)
	var before map[string]string
	var empty int
	check(t, withDatabase(dir, func(db *persistable.DB) error {
		rooms := tenants.Of(db, "rooms")
		someNotes(t, NoteStoreOf(db, "first"), "first", 1)
		check(t, rooms.Delete(ctx, "first"))
		empty = keys(t, db)
		someNotes(t, NoteStoreOf(db, "a"), "a", 100)
		for i := range 150 { // so that a deletion takes some transactions
			_, err := directory.Root().CreateOrOpen(ctx, db.Engine(), []string{"rooms", "a", "more", fmt.Sprint(i)})
			check(t, err)
		}
		before = contents(t, db, "rooms", "a")
		var b bytes.Buffer
		must[tenants.Progress](t)(rooms.Export(ctx, "a", &b, tenants.ExportOptions{}))
		return os.WriteFile(filepath.Join(dir, "stream"), b.Bytes(), 0o600)
	}))
	kills, longest, growth := 0, 2*time.Millisecond, 1.25
	if testing.Short() {
		growth = 2.5
	}
	for !runOnce(t, task, dir, time.Duration(random.Int64N(int64(longest)))) {
		kills++
		longest = time.Duration(float64(longest) * growth) // so that one comes to the end
		check(t, withDatabase(dir, func(db *persistable.DB) error {
			for _, name := range names(t, tenants.Of(db, "rooms")) {
				equal(t, before, contents(t, db, "rooms", name))
			}
			return nil
		}))
	}
	t.Logf("%d processes were killed", kills)
	check(t, withDatabase(dir, func(db *persistable.DB) error {
		verify(t, db, before, empty)
		return nil
	}))
}

// runOnce starts a process, kills it some time after it has opened the database, and
// reports whether it was done before.
func runOnce(t *testing.T, task, dir string, after time.Duration) (done bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childTask+"="+task, childDir+"="+dir)
	cmd.Stderr = os.Stderr
	out := must[interface{ Read([]byte) (int, error) }](t)(cmd.StdoutPipe())
	check(t, cmd.Start())
	var text bytes.Buffer
	buffer := make([]byte, 4096)
	for !bytes.Contains(text.Bytes(), []byte("open")) {
		n, err := out.Read(buffer)
		if text.Write(buffer[:n]); err != nil {
			t.Fatalf("%v: %s", err, text.Bytes())
		}
	}
	kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	for {
		n, err := out.Read(buffer)
		if text.Write(buffer[:n]); err != nil {
			break
		}
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() == 1 {
		t.Fatalf("the process failed: %s", text.Bytes())
	}
	return bytes.Contains(text.Bytes(), []byte("done"))
}
