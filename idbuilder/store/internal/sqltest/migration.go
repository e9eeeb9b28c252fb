// SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

// testMigration initialises from eight workers at once, on an empty database and after a
// worker has stopped in the middle of a migration.
func testMigration(t *testing.T, h Home) {
	at := h.NewURL(t, h.Shared(t))
	initialise := func() {
		t.Helper()
		var group sync.WaitGroup
		for range 8 {
			s := h.Open(t, at, Options{})
			group.Go(func() {
				if err := s.Init(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		versions := h.Rows(t, at, "SELECT version, description FROM schema_versions")
		if len(versions) != 1 || !strings.HasPrefix(versions[0], "1 sequences, ") {
			t.Errorf("schema_versions has %q", versions)
		}
		if locks := h.Rows(t, at, "SELECT owner_id FROM distributed_locks"); len(locks) > 0 {
			t.Errorf("distributed_locks has %q", locks)
		}
	}
	initialise()
	for _, statement := range []string{
		"DROP TABLE id_documents", "DROP TABLE id_state", "DELETE FROM schema_versions",
		"INSERT INTO distributed_locks (lock_key, owner_id, expires_at) VALUES ('schema', 'crashed', '2026-01-02 03:04:05')",
	} {
		h.Execute(t, at, statement)
	}
	initialise()
	_, err := h.Open(t, at, Options{}).Advance(t.Context())
	check(t, err)
}

// testMigrationLock holds the lock of migrations: a worker waits for it before it
// makes a table.
func testMigrationLock(t *testing.T, h Home) {
	at := h.NewURL(t, h.Shared(t))
	release := h.HoldMigrations(t, at)
	done := make(chan error, 1)
	go func() { done <- h.Open(t, at, Options{}).Init(t.Context()) }()
	for ctx := within(t); len(h.Rows(t, at, waiting[h.scheme(at)])) == 0; {
		check(t, ctx.Err())
		select {
		case err := <-done:
			t.Fatalf("Init has not waited for the lock: %v", err)
		default:
		}
	}
	if tables := h.Rows(t, at, "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'id\\_%' AND table_schema = "+h.Schema); len(tables) > 0 {
		t.Errorf("made while another worker had the lock: %q", tables)
	}
	release()
	check(t, <-done)
}

// testForeignTable checks that tables of another program are left alone.
func testForeignTable(t *testing.T, h Home) {
	at := h.NewURL(t, h.Shared(t))
	h.Execute(t, at, "CREATE TABLE id_sequences (id INT PRIMARY KEY, key_name VARCHAR(255), current_value INT, version BIGINT)")
	var corrupt *store.CorruptError
	err := h.Open(t, at, Options{}).Init(t.Context())
	if !errors.As(err, &corrupt) || !strings.Contains(corrupt.Where, "table id_sequences, column current_value") {
		t.Errorf("a table of another program: %v", err)
	}
}

// testDurability checks that a server which may lose commits is refused.
func testDurability(t *testing.T, h Home) {
	at := h.NewURL(t, h.Shared(t)) // it syncs nothing
	err := h.Open(t, at, Options{Strict: true}).Init(t.Context())
	if err == nil || !strings.Contains(err.Error(), "may lose what it has acknowledged") {
		t.Errorf("a server that may lose data: %v", err)
	}
}

// CheckColumns compares columns of tables, each a line, with those wanted.
func CheckColumns(t *testing.T, got []string, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	got = slices.Clone(got)
	for i, line := range got {
		got[i] = strings.TrimSpace(line)
		if !slices.Contains(lines, got[i]) {
			t.Errorf("not as specified: %s", line)
		}
	}
	for _, line := range lines {
		if !slices.Contains(got, line) {
			t.Errorf("missing: %s", line)
		}
	}
}
