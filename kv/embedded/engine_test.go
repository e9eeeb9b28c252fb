// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	"github.com/kazahana-db/kazahana/kv/kvtest/replay"
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

func TestDefaults(t *testing.T) {
	kvtest.RunDefaults(t, func(tb testing.TB, d kv.TransactionDefaults) kv.Database {
		db, err := embedded.OpenMemoryWith(embedded.Options{Transactions: d})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = db.Close() })
		return db
	})
}
