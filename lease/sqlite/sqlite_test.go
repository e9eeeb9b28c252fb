// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/lease/sqlite"
)

// workFile names the file of a process that TestStore starts.
const workFile = "KAZAHANA_SQLITE_WORK"

// programs are what the test's binary does where a variable names a file.
var programs = map[string]func(path string) error{workFile: work}

func TestMain(m *testing.M) {
	for variable, program := range programs {
		path := os.Getenv(variable)
		if path == "" {
			continue
		}
		if err := program(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// work is a process that acquires leases from a file.
func work(path string) (err error) {
	store, err := sqlite.Open(path, sqlite.Options{BusyTimeout: time.Minute}) // the test is not about timeouts
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return leasetest.Work(context.Background(), store, os.Stdout)
}

func open(t *testing.T, path string, options sqlite.Options) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name+".db") }
	leasetest.Run(t, leasetest.Suite{
		Open: func(t *testing.T, name string) lease.Store { return open(t, path(name), sqlite.Options{}) },
		Process: func(t *testing.T, name string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), workFile+"="+path(name))
			return cmd
		},
	})
}

// TestNewerFile: a file that a newer version has migrated is not opened, and a process that has it
// open already grants nothing any more.
func TestNewerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	store := open(t, path, sqlite.Options{})
	acquire(t, store)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 2"); err != nil {
		t.Fatal(err)
	}
	ran := false
	err = store.Update(t.Context(), lease.DefaultService, func(lease.Tx) error { ran = true; return nil })
	if !errors.Is(err, lease.ErrNewer) || ran {
		t.Errorf("a transaction: %v, and it ran: %v", err, ran)
	}
	if _, err := sqlite.Open(path, sqlite.Options{}); !errors.Is(err, lease.ErrNewer) || !errors.Is(err, sqlite.ErrNotLeases) {
		t.Errorf("opened: %v", err)
	}
}

// TestOpen checks what files are refused, and names that URIs could mistake.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	store := open(t, filepath.Join(dir, "a?b=c#d%41 é.db"), sqlite.Options{})
	acquire(t, store)
	if _, err := os.Stat(filepath.Join(dir, "a?b=c#d%41 é.db")); err != nil {
		t.Error(err)
	}
	other := filepath.Join(dir, "other.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE users (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(other, sqlite.Options{}); !errors.Is(err, sqlite.ErrNotLeases) {
		t.Errorf("a database of something else: got %v, want ErrNotLeases", err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte("this is not a database, whatever its name says"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, filepath.Join(dir, "missing", "leases.db"), dir} {
		if _, err := sqlite.Open(path, sqlite.Options{}); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
	if _, err := sqlite.Open(filepath.Join(dir, "x.db"), sqlite.Options{BusyTimeout: -1}); err == nil {
		t.Error("a negative busy timeout: no error")
	}
}

func acquire(t *testing.T, store lease.Store) idgen.Lease {
	t.Helper()
	leases, err := tryAcquire(t, store)
	if err != nil {
		t.Fatal(err)
	}
	return leases[0]
}

func tryAcquire(t *testing.T, store lease.Store) ([]idgen.Lease, error) {
	t.Helper()
	server, err := lease.NewServer(store, lease.Options{Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	return server.Acquire(t.Context(), idgen.AcquireRequest{})
}

// TestReplaced removes the file under a process that has it open, and puts
// another one in its place: of the two that are then open only one grants.
func TestReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be removed")
	}
	path := filepath.Join(t.TempDir(), "leases.db")
	before := open(t, path, sqlite.Options{})
	acquire(t, before)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	if leases, err := tryAcquire(t, before); !errors.Is(err, sqlite.ErrReplaced) {
		t.Errorf("granted from a removed file: %v, %v", leases, err)
	}
	acquire(t, open(t, path, sqlite.Options{}))
	if leases, err := tryAcquire(t, before); !errors.Is(err, sqlite.ErrReplaced) {
		t.Errorf("granted from a replaced file: %v, %v", leases, err)
	}
}

// TestClock checks that leases begin by the clock of the store.
func TestClock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	before := time.Now().UnixMilli()
	if l := acquire(t, open(t, path, sqlite.Options{})); l.Created < before || l.Created > time.Now().UnixMilli() {
		t.Errorf("a lease begins at %d, not between %d and now", l.Created, before)
	}
	at := time.UnixMilli(idgen.DefaultCustomEpoch + 5)
	if l := acquire(t, open(t, path, sqlite.Options{Now: func() time.Time { return at }})); l.Created != at.UnixMilli() {
		t.Errorf("a lease begins at %d, want %d", l.Created, at.UnixMilli())
	}
}

// TestBusy checks the error for a lock that another process does not give up.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	holder := open(t, path, sqlite.Options{})
	store := open(t, path, sqlite.Options{BusyTimeout: time.Millisecond})
	err := holder.Update(t.Context(), "default", func(lease.Tx) error {
		return store.Update(t.Context(), "default", func(lease.Tx) error { return nil })
	})
	if !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	acquire(t, store)
}

// TestContextEndsTheWait: a transaction that waits for the lock of another process ends
// with its context, long before the wait for the lock does.
func TestContextEndsTheWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	holder := open(t, path, sqlite.Options{})
	store := open(t, path, sqlite.Options{BusyTimeout: 30 * time.Second})
	err := holder.Update(t.Context(), "default", func(lease.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		return store.Update(ctx, "default", func(lease.Tx) error { return nil })
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
	acquire(t, store)
}

// TestSynced checks the modes that durability rests on.
func TestSynced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	acquire(t, open(t, path, sqlite.Options{}))
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Errorf("there is no write-ahead log: %v", err)
	}
}

// TestFormats reads files that earlier versions wrote, and writes one: as SQLite's own
// statements. The records are those of package lease.
func TestFormats(t *testing.T) {
	at := time.UnixMilli(idgen.DefaultCustomEpoch + 1000)
	options := sqlite.Options{Now: func() time.Time { return at }}
	small := lease.Options{Fresh: true}
	small.Default.Layout = idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 2, SequenceBits: 5}
	grant := func(t *testing.T, store lease.Store) (*lease.Server, idgen.Lease) {
		server, err := lease.NewServer(store, small)
		if err != nil {
			t.Fatal(err)
		}
		leases, err := server.Acquire(t.Context(), idgen.AcquireRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return server, leases[0]
	}
	formats.Check(t, formats.Format{
		Name: "lease/sqlite",
		Write: func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "leases.db")
			grant(t, open(t, path, options))
			return dump(t, path)
		},
		Mask: func(_ *testing.T, example string) string {
			return regexp.MustCompile(`"(secret|incarnation)":"[0-9a-f]{32}"|'1[0-9a-f]{8} `).ReplaceAllString(example, "<$1>")
		},
		Read: func(t *testing.T, example string) {
			path := filepath.Join(t.TempDir(), "leases.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), example); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			server, next := grant(t, open(t, path, options))
			page, err := server.List(t.Context(), "", lease.ListOptions{})
			if err != nil || len(page.Leases) != 2 || page.Leases[0].ID == next.ID {
				t.Fatalf("the leases are %+v, %v; the new one is %+v", page, err, next)
			}
			if l := page.Leases[0]; l.ID != 0 || !l.Created.Equal(at) || l.Expired.Sub(at) != 10*time.Minute || !l.Active {
				t.Errorf("the lease is %+v", l)
			}
		},
	})
}

// dump returns the statements that make a file of leases.
func dump(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var b strings.Builder
	for _, query := range []string{
		"SELECT 'PRAGMA application_id = ' || application_id FROM pragma_application_id",
		"SELECT 'PRAGMA user_version = ' || user_version FROM pragma_user_version",
		"SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name",
		"SELECT 'INSERT INTO leases VALUES (' || quote(service) || ', ' || quote(key) || ', CAST(' || quote(CAST(value AS TEXT)) || ' AS BLOB))' FROM leases ORDER BY service, key",
	} {
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var statement string
			if err := rows.Scan(&statement); err != nil {
				t.Fatal(err)
			}
			b.WriteString(statement + ";\n")
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}
