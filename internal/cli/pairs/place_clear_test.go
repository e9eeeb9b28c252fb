// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestClearBesideAProgram checks that a program that has a store open when another process
// clears the store's keys, header included, writes a header before it writes records: they
// would be found by no program else.
func TestClearBesideAProgram(t *testing.T) {
	w := clitest.NewWorld(t)
	program := bazaar.SettingStoreOf(w.Other)
	w.Must(program.Save(t.Context(), &bazaar.Setting{ID: "before", Value: "1"}))
	w.Must(program.Save(t.Context(), &bazaar.Setting{ID: "with what is cached", Value: "1"}))
	d, err := w.DB.Layer().Open(t.Context(), w.Engine, []string{"settings"})
	w.Must(err)
	prefix, err := d.Prefix()
	w.Must(err)
	p := &place{db: w.DB, layer: w.DB.Layer(), path: []string{"settings"}, prefix: prefix}
	w.Must(p.clear(t.Context(), w.Engine, kv.PrefixRange(prefix)))

	w.Must(program.Save(t.Context(), &bazaar.Setting{ID: "after", Value: "2"}))
	got, err := bazaar.SettingStoreOf(w.Open(w.Engine.Database)).Get(t.Context(), "after")
	if err != nil || got.Value != "2" {
		t.Errorf("another program gets %+v, %v", got, err)
	}
}
