// SPDX-License-Identifier: Apache-2.0

package base

import (
	"encoding/hex"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/goldens/formats"
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

// TestFormats reads the keys of bases that earlier versions wrote, and writes them.
func TestFormats(t *testing.T) {
	formats.Check(t, formats.Format{Name: "embedded/base", Write: writeExample, Read: readExample})
}

// sampledKey is the number of a key that the sample has.
const sampledKey = 2320

// writeExample returns the format of a base and all of its keys, its own included.
func writeExample(t *testing.T) string {
	b := laidBase(t, nil)
	for round := range 2 {
		batch, err := b.NewBatch()
		for i := 0; err == nil && i < 100; i += round + 1 {
			err = batch.Set(runKey(i), fmt.Append(nil, round))
		}
		if err == nil {
			err = batch.Set(nil, []byte("of the empty key"))
		}
		if err == nil {
			err = batch.Set(runKey(sampledKey), []byte("s"))
		}
		if err == nil && round == 1 {
			err = batch.RemoveRange(runKey(9), runKey(90))
		}
		if err == nil {
			err = batch.Finish(int64(round)<<40 + 7)
		}
		if err == nil {
			err = batch.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("format %d\n", b.db.FormatMajorVersion())
	iter, err := b.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		text += fmt.Sprintf("%x = %x\n", iter.Key(), iter.Value())
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return text
}

// readExample checks what a base with these keys has.
func readExample(t *testing.T, example string) {
	var format uint64
	head, pairs, _ := strings.Cut(example, "\n")
	if _, err := fmt.Sscanf(head, "format %d", &format); err != nil {
		t.Fatal(err)
	}
	fs := vfs.NewMem()
	raw, err := pebble.Open("base", &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatMajorVersion(format), Logger: silence{}})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(pairs) {
		var parts [2][]byte
		for i, part := range strings.SplitN(strings.TrimSuffix(line, "\n"), " = ", 2) {
			if parts[i], err = hex.DecodeString(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := raw.Set(parts[0], parts[1], pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := Open("base", Options{Fs: fs, CacheSize: 1 << 20, MemTable: 1 << 20}, fault.New())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := -1; i <= 100; i++ {
		key, want := runKey(i), fmt.Sprint((i+1)%2)
		switch {
		case i < 0:
			key, want = nil, "of the empty key"
		case i >= 9 && i < 90, i == 100:
			want = ""
		}
		if got, err := b.Get(key); err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%q is %q, want %q; %v", key, got, want, err)
		}
	}
	if got := b.AbsorbedVersion(); got != 1<<40+7 {
		t.Errorf("the base has absorbed version %d", got)
	}
	of := b.sample.Snapshot()
	if size := of.Get(runKey(sampledKey)); size == nil || *size != 27749 {
		t.Errorf("the sample has %v for the key in it", size)
	}
}
