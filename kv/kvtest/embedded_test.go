// SPDX-License-Identifier: Apache-2.0

package kvtest_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/internal/history"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

func openEmbedded(tb testing.TB) kv.Database {
	tb.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// The wrappers keep every law of the engine beneath.
func TestWrappersOfTheEmbeddedEngine(t *testing.T) {
	seed := seed.Of(t)
	spare := faults.Options{Seed: seed, SpareExplicit: true}
	prompt := faults.Options{Seed: seed + 1, SpareExplicit: true, MaxDelay: -1}
	for name, wrap := range map[string]func(kv.Database) kv.Database{
		"hostile":            func(db kv.Database) kv.Database { return faults.Hostile(db, spare) },
		"counter":            func(db kv.Database) kv.Database { return faults.NewCounter(db) },
		"counter of hostile": func(db kv.Database) kv.Database { return faults.NewCounter(faults.Hostile(db, spare)) },
		"hostile twice":      func(db kv.Database) kv.Database { return faults.Hostile(faults.Hostile(db, prompt), spare) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kvtest.RunConformance(t, func(tb testing.TB) kv.Database { return wrap(openEmbedded(tb)) })
		})
	}
}

func TestHistoriesOfTheHostileEmbeddedEngine(t *testing.T) {
	for _, goroutines := range []int{2, 8, 32} {
		history.CheckSerializable(t, faults.HostileT(t, openEmbedded(t)),
			history.LoadOptions{Seed: seed.Of(t), Goroutines: goroutines, Transactions: 20})
	}
}
