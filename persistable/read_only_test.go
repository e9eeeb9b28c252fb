// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestOpenReadOnly opens databases for reading: one that a DB has opened before, and one
// that has no key of page tokens. Neither is changed.
func TestOpenReadOnly(t *testing.T) {
	if err := (persistable.Options{ReadOnly: true}).Validate(); err == nil {
		t.Error("a DB that only reads may lease ids")
	}
	for _, before := range []bool{true, false} {
		folder := t.TempDir()
		engine, err := embedded.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := directory.Root().Create(t.Context(), engine, []string{"shop"}); err != nil {
			t.Fatal(err)
		}
		want := []string{"shop"}
		if before {
			want = []string{"kazahana", "shop"}
			db, err := persistable.Open(t.Context(), engine)
			if err == nil {
				err = db.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
		reader, err := embedded.OpenWith(folder, embedded.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		db, err := persistable.OpenWith(t.Context(), reader, persistable.Options{ReadOnly: true, IDs: persistable.IDOptions{Off: true}})
		if err != nil {
			t.Fatalf("opened before: %v: %v", before, err)
		}
		if names, err := db.ListDirectory(t.Context()); err != nil || !slices.Equal(names, want) {
			t.Errorf("opened before: %v: the root has %q, %v, want %q", before, names, err, want)
		}
		if err := db.Transact(t.Context(), func(persistable.Tx) error { return nil }); !errors.Is(err, persistable.ErrReadOnly) {
			t.Errorf("Transact: %v, want ErrReadOnly", err)
		}
		if err := errors.Join(db.Close(), reader.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
