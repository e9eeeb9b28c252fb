// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

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
			_, err = rooms.Copy(ctx, "a", "c", tenants.CopyOptions{Lock: lock})
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
	db, err := persistable.OpenWith(ctx, engine, persistable.Options{})
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
