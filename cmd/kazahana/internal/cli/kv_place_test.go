// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/internal/bazaar"
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
	p := &keyPlace{db: w.DB, layer: w.DB.Layer()}
	all := rangeOf(t, w, "settings")
	shown, err := countKeys(t.Context(), p, all, true)
	w.Must(err)
	w.Must(p.clear(t.Context(), w.Engine, all, shown, true))

	w.Must(program.Save(t.Context(), &bazaar.Setting{ID: "after", Value: "2"}))
	got, err := bazaar.SettingStoreOf(w.Open(w.Engine.Database)).Get(t.Context(), "after")
	if err != nil || got.Value != "2" {
		t.Errorf("another program gets %+v, %v", got, err)
	}
}

// rangeOf returns the keys of a directory.
func rangeOf(t *testing.T, w clitest.World, path ...string) kv.KeyRange {
	t.Helper()
	d, err := w.DB.Layer().Open(t.Context(), w.Engine, path)
	w.Must(err)
	return d.Reserve()
}

// set lets the other process write a key.
func set(t *testing.T, w clitest.World, key string) {
	t.Helper()
	w.Must(w.Engine.Database.Transact(t.Context(), func(tx kv.Transaction) error { tx.Set([]byte(key), nil); return nil }))
}

// TestClearWhatWasShown: keys outside of a directory are cleared only if no key was made or removed among
// them since they were shown; those of a directory, only if it is still at its path.
func TestClearWhatWasShown(t *testing.T) {
	w := clitest.NewWorld(t)
	outside := kv.PrefixRange([]byte("lost/"))
	set(t, w, "lost/a")
	p := &keyPlace{db: w.DB, layer: w.DB.Layer()}
	count := func(r kv.KeyRange) clearResult {
		t.Helper()
		n, err := countKeys(t.Context(), p, r, false)
		w.Must(err)
		return n
	}
	shown := count(outside)
	set(t, w, "lost/b")
	if err := p.clear(t.Context(), w.Engine, outside, shown, false); err == nil || !strings.Contains(err.Error(), "look again") {
		t.Errorf("a key that was made since it was shown: %v", err)
	}
	if n := count(outside); n.Keys != 2 {
		t.Errorf("%d keys are left", n.Keys)
	}
	set(t, w, "lost/a") // its value counts for nothing
	w.Must(p.clear(t.Context(), w.Engine, outside, count(outside), false))
	if n := count(outside); n.Keys != 0 {
		t.Errorf("%d keys are left", n.Keys)
	}
	for _, dropped := range []bool{false, true} { // the acknowledgement is lost
		set(t, w, "lost/a")
		shown = count(outside)
		w.Engine.Lose(dropped, nil)
		w.Must(p.clear(t.Context(), w.Engine, outside, shown, false))
		if n := count(outside); n.Keys != 0 {
			t.Errorf("%d keys are left", n.Keys)
		}
	}

	w.Create("cache")
	w.Create("old")
	inside := rangeOf(t, w, "cache")
	set(t, w, string(inside.Begin)+"a")
	shown = count(inside)
	set(t, w, string(inside.Begin)+"b") // of the same directory
	w.Must(p.clear(t.Context(), w.Engine, inside, shown, false))
	set(t, w, string(inside.Begin)+"a")
	shown = count(inside)
	w.Move("cache", "old/cache")
	w.Create("cache")
	if err := p.clear(t.Context(), w.Engine, inside, shown, false); err == nil || !strings.Contains(err.Error(), "moved or removed") {
		t.Errorf("a directory that was moved since it was shown: %v", err)
	}
	if n := count(inside); n.Keys != 1 {
		t.Errorf("%d keys are left in the directory", n.Keys)
	}
}

// TestClearHeader: the header of a store is cleared only by those who say so, even if it was
// written after the question.
func TestClearHeader(t *testing.T) {
	w := clitest.NewWorld(t)
	w.Must(bazaar.SettingStoreOf(w.Other).Save(t.Context(), &bazaar.Setting{ID: "a", Value: "1"}))
	p := &keyPlace{db: w.DB, layer: w.DB.Layer()}
	all := rangeOf(t, w, "settings")
	if _, err := countKeys(t.Context(), p, all, false); err == nil || !strings.Contains(err.Error(), "the header of the store of Setting in settings") || !strings.Contains(err.Error(), "--system") {
		t.Errorf("all keys of a store: %v", err)
	}
	shown, err := countKeys(t.Context(), p, all, true)
	w.Must(err)
	if err := p.clear(t.Context(), w.Engine, all, shown, false); err == nil || !strings.Contains(err.Error(), "header") {
		t.Errorf("a header that came after the question: %v", err)
	}
	w.Must(p.clear(t.Context(), w.Engine, all, shown, true))
}
