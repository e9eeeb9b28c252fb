// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
)

// TestBatchesEndAtUnknownKeys checks sizes: as in FoundationDB's client, a batch that is limited in bytes ends before a key that has
// to be fetched, and each batch counts a conflict range.
func TestBatchesEndAtUnknownKeys(t *testing.T) {
	all := kv.KeyRange{Begin: []byte("a"), End: []byte("z")}.Selectors()
	whole := func(mode kv.StreamingMode, reverse bool) func(kv.Transaction) {
		return func(tx kv.Transaction) {
			if _, err := tx.GetRange(all, kv.RangeOptions{Mode: mode, Reverse: reverse, Limit: 9}).Slice(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	get := func(key string) func(kv.Transaction) {
		return func(tx kv.Transaction) {
			if _, err := tx.Snapshot().Get([]byte(key)).Get(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	clearNothing := func(tx kv.Transaction) { tx.ClearRange(kv.KeyRange{Begin: []byte("k"), End: []byte("m")}) }
	const cleared = 2 + 44 + 2 + 24 // the clear and its conflict range
	for _, c := range []struct {
		name  string
		calls []func(kv.Transaction)
		want  int64
	}{
		{"nothing known", []func(kv.Transaction){whole(kv.ModeWantAll, false)}, 2 + 24},
		{"a key known", []func(kv.Transaction){get("b"), whole(kv.ModeWantAll, false)}, 2 + 24},
		{"a gap that is cleared", []func(kv.Transaction){clearNothing, whole(kv.ModeWantAll, false)}, cleared + 3*(3+24)},
		{"the same backward", []func(kv.Transaction){clearNothing, whole(kv.ModeWantAll, true)}, cleared + 2 + 24 + 2*(2+24)},
		{"limited in rows only", []func(kv.Transaction){clearNothing, whole(kv.ModeExact, false)}, cleared + 2*(2+24)},
		{"all known", []func(kv.Transaction){clearNothing, whole(kv.ModeExact, false), whole(kv.ModeWantAll, false)}, cleared + 4*(2+24)},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := memoryWith(t, "a", "b", "n")
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Cancel()
			for _, call := range c.calls {
				call(tx)
			}
			if got, err := tx.GetApproximateSize().Get(t.Context()); err != nil || got != c.want {
				t.Errorf("size %d (%v), want %d", got, err, c.want)
			}
		})
	}
}

// memoryWith opens a database with keys.
func memoryWith(t testing.TB, keys ...string) *Database {
	t.Helper()
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeTest(t, db) })
	transact(t, db, func(tx kv.Transaction) {
		for _, key := range keys {
			tx.Set([]byte(key), []byte(key))
		}
	})
	return db
}

// TestRangesWhateverIsKnown reads ranges in batches of few pairs, over own
// writes and after other reads: those never change what a range holds.
func TestRangesWhateverIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := map[string]string{}
		db, err := OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Cancel()
		for range rapid.IntRange(0, 12).Draw(t, "stored") {
			key, value := drawKey(t, "key"), strings.Repeat("v", rapid.IntRange(0, 100).Draw(t, "length"))
			model[key] = value
		}
		if err := db.Transact(t.Context(), func(tx kv.Transaction) error {
			for key, value := range model {
				tx.Set([]byte(key), []byte(value))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				drawWrite(t, model)(tx)
			case 1:
				key := drawKey(t, "get")
				if got, err := tx.Get([]byte(key)).Get(t.Context()); err != nil || string(got) != model[key] {
					t.Fatalf("Get(%q) = %q, %v; want %q", key, got, err, model[key])
				}
			default:
				checkRange(t, tx, model)
			}
		}
	})
}

// checkRange compares a drawn range with the model.
func checkRange(t *rapid.T, tx kv.ReadTransaction, model map[string]string) {
	begin, end := drawKey(t, "begin"), drawKey(t, "end")
	o := kv.RangeOptions{
		Mode:    rapid.SampledFrom([]kv.StreamingMode{kv.ModeSmall, kv.ModeMedium, kv.ModeWantAll}).Draw(t, "mode"),
		Reverse: rapid.Bool().Draw(t, "reverse"),
		Limit:   rapid.IntRange(0, 4).Draw(t, "limit"),
	}
	r := kv.KeyRange{Begin: []byte(begin), End: []byte(end)}
	got, err := readPairs(tx, r, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pairsOf(model, r, o.Reverse, o.Limit), got); diff != "" {
		t.Fatalf("range %q to %q %+v mismatch (-want +got):\n%s", begin, end, o, diff)
	}
}
