// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"
	"maps"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv/embedded/internal/fault"
)

func runKey(i int) []byte { return fmt.Appendf(nil, "lane/%06d", i) }

// laidBase is a base with the given keys.
func laidBase(t testing.TB, keys map[string]bool) *Base {
	t.Helper()
	b, err := Open("base", Options{Fs: vfs.NewMem(), CacheSize: 1 << 20, MemTable: 1 << 20}, fault.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	for k := range keys {
		if err := b.db.Set(baseKey(nil, []byte(k)), []byte("old"), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestBaseRunIsOneTombstone counts the operations that runs of cleared keys come
// to.
func TestBaseRunIsOneTombstone(t *testing.T) {
	const n = 5000
	keys := map[string]bool{}
	for i := range n {
		keys[string(runKey(i))] = true
	}
	b := laidBase(t, keys)
	for _, c := range []struct {
		name  string
		spare func(i int) bool // keys that are not cleared
		set   func(i int) bool
		want  int
	}{
		{name: "all", want: 1},
		{name: "all but one", spare: func(i int) bool { return i == n/2 }, want: 2},
		{name: "all but one, which is set", set: func(i int) bool { return i == n/2 }, want: 3},
		{name: "few", spare: func(i int) bool { return i >= runKeys-1 }, want: runKeys - 1},
		{name: "every other one", spare: func(i int) bool { return i%2 == 1 }, want: n / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			batch, err := b.NewBatch()
			if err != nil {
				t.Fatal(err)
			}
			defer batch.Discard()
			for i := range n {
				switch {
				case c.set != nil && c.set(i):
					err = batch.Set(runKey(i), []byte("new"))
				case c.spare == nil || !c.spare(i):
					err = batch.Remove(runKey(i))
				}
				if err == nil {
					err = batch.Remove(append(runKey(i), '?')) // which the base does not have
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := batch.flushRun(); err != nil {
				t.Fatal(err)
			}
			if got := int(batch.batch.Count()); got != c.want {
				t.Errorf("the clears come to %d operations, want %d", got, c.want)
			}
		})
	}
}

// TestBaseRunModel absorbs random writes, in the order of keys as the absorber
// does, and compares what is left with a map.
func TestBaseRunModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := func(i int) string { return fmt.Sprintf("%02d", i) }
		const n = 40
		model := map[string]bool{}
		for i := range n {
			if rapid.Bool().Draw(rt, "laid") {
				model[key(i)] = true
			}
		}
		b := laidBase(t, model)
		b.runKeys = 2
		batch, err := b.NewBatch()
		if err != nil {
			rt.Fatal(err)
		}
		for i := 0; i < n && err == nil; i++ {
			switch rapid.IntRange(0, 9).Draw(rt, "write") {
			case 0:
				model[key(i)] = true
				err = batch.Set([]byte(key(i)), []byte("new"))
			case 1:
				end := min(i+rapid.IntRange(1, 5).Draw(rt, "cleared"), n)
				err = batch.RemoveRange([]byte(key(i)), []byte(key(end)))
				maps.DeleteFunc(model, func(k string, _ bool) bool { return key(i) <= k && k < key(end) })
				i = end - 1
			case 2:
			default:
				delete(model, key(i))
				err = batch.Remove([]byte(key(i)))
			}
		}
		if err != nil {
			rt.Fatal(err)
		}
		if err := batch.Apply(); err != nil {
			rt.Fatal(err)
		}
		left := map[string]bool{}
		iter, err := b.db.NewIter(&pebble.IterOptions{LowerBound: firstPair, UpperBound: lastPair})
		if err != nil {
			rt.Fatal(err)
		}
		for ok := iter.First(); ok; ok = iter.Next() {
			left[string(iter.Key()[1:])] = true
		}
		if err := iter.Close(); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(model, left); diff != "" {
			rt.Fatalf("the base (-want +got):\n%s", diff)
		}
	})
}
