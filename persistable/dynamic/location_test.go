// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestStoresInPages: stores after more directories than a transaction lists are found.
func TestStoresInPages(t *testing.T) {
	db := seeded(t)
	for i := range 24 {
		check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
			for j := range 50 { // few: a slow cluster takes its time for each
				if _, err := db.Layer().Create(ctx, tx, []string{fmt.Sprintf("a%04d", 50*i+j)}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	n := 0
	for _, err := range dynamic.Stores(ctx, db) {
		check(t, err)
		n++
	}
	if n != 9 {
		t.Errorf("%d stores, want 9", n)
	}
}

// TestStoresPassOverDamage: a key among the directories that is none hides no store.
func TestStoresPassOverDamage(t *testing.T) {
	db := seeded(t)
	var want []string
	for at, err := range dynamic.Stores(ctx, db) {
		check(t, err)
		want = append(want, at.String())
	}
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		tx.Set([]byte("\xfe\x01\xfe\x00\x14\x02aaa\x00torn"), []byte{0x15, 0x01})
		return nil
	}))
	var got []string
	var last error
	for at, err := range dynamic.Stores(ctx, db) {
		if last = err; err == nil {
			got = append(got, at.String())
		}
	}
	if !slices.Equal(got, want) || !errors.Is(last, directory.ErrCorrupt) {
		t.Errorf("%q, then %v, want %q", got, last, want)
	}
}

// TestOpenOfSeveralTypes: a directory with stores of two types is opened by the name of one
// of them. The errors tell the types.
func TestOpenOfSeveralTypes(t *testing.T) {
	db := seeded(t)
	copyHeader(t, db, "Setting", "settings", "counters")
	path, types := []string{"counters"}, []string{"Counter", "Setting"}
	for _, typ := range types {
		if s := must[*dynamic.Store](t)(dynamic.Open(ctx, db, path, typ)); s.Schema().Type != typ {
			t.Errorf("opened %s, want %s", s.Schema().Type, typ)
		}
	}
	_, err := dynamic.Open(ctx, db, path, "")
	const several = `dynamic: the directory "counters" has stores of several types: Counter, Setting: name one`
	if !errors.Is(err, dynamic.ErrSeveralTypes) || errors.Is(err, persistable.ErrNotFound) || err.Error() != several {
		t.Fatalf("without a type: %v", err)
	}
	_, err = dynamic.Open(ctx, db, path, "Count")
	const none = `persistable: not found: the directory "counters" has no store of Count; it has Counter, Setting`
	if !errors.Is(err, persistable.ErrNotFound) || errors.Is(err, dynamic.ErrSeveralTypes) || err.Error() != none {
		t.Fatalf("of another type: %v", err)
	}
}

// copyHeader copies the header of a type from one directory to another.
func copyHeader(t *testing.T, db *persistable.DB, typ, from, to string) {
	t.Helper()
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
		value, err := tx.Get(headerKey(t, tx, db, typ, from)).Get(ctx)
		if err == nil {
			tx.Set(headerKey(t, tx, db, typ, to), value)
		}
		return err
	}))
}

func headerKey(t *testing.T, tx kv.Transaction, db *persistable.DB, typ, dir string) []byte {
	t.Helper()
	d, err := db.Layer().Open(ctx, tx, []string{dir})
	check(t, err)
	return tuple.AppendString(tuple.AppendString(must[[]byte](t)(d.Prefix()), "S"), typ)
}
