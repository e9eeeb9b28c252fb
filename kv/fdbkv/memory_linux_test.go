// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// What transactions write leaves the client's memory when they end, although Go's
// collector, which does not see that memory, does not run.
func TestWritesAreFreedWithTheirTransactions(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	db, prefix := openOwn(t, fdbkv.Options{})
	value, refused := make([]byte, 90_000), errors.New("refused")
	write := func(tx kv.Transaction) error {
		for i := range 100 {
			tx.Set(fmt.Append(nil, prefix, i), value)
		}
		return refused
	}
	for name, run := range map[string]func() error{
		"Transact": func() error { return db.Transact(t.Context(), write) },
		"Retry": func() error {
			tx := begin(t, db)
			return kv.Retry(t.Context(), tx, func(kv.Attempt) error { return write(tx) })
		},
		"Cancel":       func() error { tx := begin(t, db); defer tx.Cancel(); return write(tx) },
		"Reset":        func() error { tx := begin(t, db); defer tx.Reset(); return write(tx) },
		"after Commit": func() error { tx := begin(t, db); _ = write(tx); return errors.Join(tx.Commit(t.Context()), refused) },
	} {
		t.Run(name, func(t *testing.T) {
			const runs, size = 60, 9_000_000
			before := residentBytes(t)
			for range runs {
				if err := run(); !errors.Is(err, refused) || kv.CodeOf(err) != 0 {
					t.Fatal(err)
				}
			}
			if grown := residentBytes(t) - before; grown > runs*size/3 {
				t.Errorf("%d transactions of %d MB: %d MB are held", runs, size/1_000_000, grown/1_000_000)
			}
		})
	}
}

// residentBytes returns how much memory the process has.
func residentBytes(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var all, resident int
	if _, err := fmt.Sscan(string(text), &all, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}

// A commit of much is freed when it is acknowledged. What is left of it is as before.
func TestLargeCommitIsKnownAfterItsEnd(t *testing.T) {
	db, prefix := openOwn(t, fdbkv.Options{})
	tx := begin(t, db)
	for i := range 20 {
		tx.Set(fmt.Append(nil, prefix, i), make([]byte, 90_000))
	}
	stamp := tx.GetVersionstamp()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	version, err := tx.GetCommittedVersion()
	if got, failed := stamp.Get(t.Context()); err != nil || failed != nil || version <= 0 || int64(binary.BigEndian.Uint64(got)) != version {
		t.Errorf("committed version %d, %v; versionstamp %x, %v", version, err, got, failed)
	}
	if _, err := tx.Get([]byte(prefix)).Get(t.Context()); kv.CodeOf(err) != kv.CodeUsedDuringCommit {
		t.Errorf("Get after the commit: %v, want %d", err, kv.CodeUsedDuringCommit)
	}
	if err := tx.OnError(t.Context(), kv.NewError(kv.CodeCommitUnknownResult, "the acknowledgement was lost")); err != nil {
		t.Errorf("OnError: %v", err)
	}
	if value, err := tx.Get([]byte(prefix + "1")).Get(t.Context()); err != nil || len(value) != 90_000 {
		t.Errorf("Get of the next attempt: %d bytes, %v", len(value), err)
	}
	tx.Release()
	if _, err := tx.Get([]byte(prefix)).Get(t.Context()); kv.CodeOf(err) != kv.CodeTransactionCancelled {
		t.Errorf("Get after Release: %v, want %d", err, kv.CodeTransactionCancelled)
	}
	if again, err := tx.GetCommittedVersion(); err != nil || again != version {
		t.Errorf("committed version %d, %v after Release, want %d", again, err, version)
	}
	tx.Reset()
	if _, err := tx.Get([]byte(prefix + "1")).Get(t.Context()); err != nil {
		t.Errorf("Get after Reset: %v", err)
	}
	put(t, db, prefix+"1", "changed")
	tx.Set([]byte(prefix), nil)
	if err := tx.Commit(t.Context()); !kv.IsConflict(err) {
		t.Errorf("Commit of what was read before a change: %v, want a conflict", err)
	}
	if again, err := tx.GetCommittedVersion(); err != nil || again != version {
		t.Errorf("committed version %d, %v after a commit that failed, want that of the last one, %d", again, err, version)
	}
}
