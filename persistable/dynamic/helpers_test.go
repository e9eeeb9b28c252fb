// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
)

var ctx = context.Background()

// seeded returns the database of package bazaar.
func seeded(t testing.TB) *persistable.DB {
	t.Helper()
	engine := enginetest.Open(t)
	check(t, bazaar.Seed(ctx, engine))
	db, err := persistable.OpenWith(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}})
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return db
}

func open(t testing.TB, db *persistable.DB, path ...string) *dynamic.Store {
	t.Helper()
	s, err := dynamic.Open(ctx, db, path, "")
	check(t, err)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}
