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

func openDurable(t testing.TB) kv.Database {
	t.Helper()
	db, err := embedded.OpenWith(t.TempDir(), embedded.Options{NoSync: true})
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
