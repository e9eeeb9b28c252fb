// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestKindsByProgramsOfDifferentAge is TestKindsAgainstAMap with writes by two programs,
// one of which has none of the indexes.
func TestKindsByProgramsOfDifferentAge(t *testing.T) {
	t.Parallel()
	t.Run("plain", rapid.MakeCheck(func(rt *rapid.T) { runSaleModel(t, rt, enginetest.Open(t), 9, true) }))
	t.Run("hostile", rapid.MakeCheck(func(rt *rapid.T) {
		engine := faults.Hostile(enginetest.Open(t), faults.Options{Seed: rapid.Uint64().Draw(rt, "seed"), MaxDelay: -1})
		runSaleModel(t, rt, engine, 29, true)
	}))
}

// addOlder adds the older program to a store that the newer one has made.
func (m *saleModel) addOlder(rt *rapid.T) {
	if err := m.store.Save(ctx, &Sale{ID: "first"}); err != nil {
		rt.Fatal(err)
	}
	if err := m.store.Delete(ctx, "first"); err != nil {
		rt.Fatal(err)
	}
	schema := newSaleSchema()
	schema.Indexes, schema.Entries, schema.Covers = nil, nil, nil
	m.older = saleStoreOf(m.db, &schema)
}

// writer returns the store through which the next write goes.
func (m *saleModel) writer(rt *rapid.T) *SaleStore {
	if m.older != nil && rapid.Bool().Draw(rt, "by the older program") {
		return m.older
	}
	return m.store
}
