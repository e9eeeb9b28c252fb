// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/internal/difftest"
	"github.com/kazahana-db/kazahana/kv/internal/replay"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

func openMemory(t testing.TB) kv.Database {
	t.Helper()
	db, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestGoldens(t *testing.T) {
	replay.Goldens(t, openMemory, goldens.Dir(t))
}

func TestConformance(t *testing.T) { kvtest.RunConformance(t, openMemory) }

func TestOptions(t *testing.T) {
	kvtest.RunOptions(t, func(tb testing.TB, d kv.TransactionOptions) kv.Database {
		db, err := embedded.OpenMemory(embedded.Options{Transactions: d})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = db.Close() })
		return db
	})
}

func openDurable(t testing.TB) kv.Database {
	t.Helper()
	db, err := embedded.Open(t.TempDir(), embedded.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestDurableConformance(t *testing.T) { kvtest.RunConformance(t, openDurable) }

func TestDurableGoldens(t *testing.T) {
	replay.Goldens(t, openDurable, goldens.Dir(t))
}

// TestDifferential compares the engine in memory with the one on a disk. On the disk,
// reads and commits take other paths.
func TestDifferential(t *testing.T) {
	options := difftest.Options{Seed: seed.Of(t), Names: [2]string{"memory", "durable"}}
	if testing.Short() {
		options.Programs = 60
	}
	difftest.Run(t, openMemory(t), openDurable(t), options)
}

func TestFinds(t *testing.T) {
	t.Run("memory", func(t *testing.T) { replay.Finds(t, openMemory) })
	t.Run("durable", func(t *testing.T) { replay.Finds(t, openDurable) })
}
