// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
)

// TestOrderIsThatOfEntering checks that a map which is built at once is the same
// as one into which the operations were entered one after the other, whatever
// their keys, and that it can be changed as well.
func TestOrderIsThatOfEntering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		listed := drawListed(t, "listed")
		built, entered := &writeMap{listed: slices.Clone(listed)}, &writeMap{}
		built.sortedEntries()
		entered.enterAll(listed)
		checkEntries(t, built, entered)
		later := drawListed(t, "later")
		built.enterAll(later)
		entered.enterAll(later)
		checkEntries(t, built, entered)
	})
}

// TestDistinctMutations checks what a map that was built tells of its operations: it is what a
// commit must do, each a write conflict range, and counts as much. It is told unless a range was
// cleared.
func TestDistinctMutations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		listed := drawListed(t, "listed")
		m := &writeMap{listed: slices.Clone(listed)}
		want, must := m.distinctMutations()
		entered := &writeMap{}
		entered.enterAll(listed)
		sent := txn.Request{Mutations: entered.appendMutations(nil, []byte{}, nil), Writes: entered.conflictRanges()}
		if must && requestSize(&sent, nil) != requestSize(&txn.Request{Mutations: want, Pointwise: true}, nil) {
			t.Fatalf("the list counts otherwise than the map: %v", listed)
		}
		must = must && !slices.ContainsFunc(listed, func(l mutation.Mutation) bool { return l.Op == mutation.OpClearRange })
		m.sortedEntries()
		if rapid.IntRange(0, 3).Draw(t, "what else") == 0 {
			m.addOperation(orderKey(rapid.IntRange(0, 100).Draw(t, "quiet")), operation{op: mutation.OpSet, value: []byte("q")}, false)
			must = false
		}
		got, ok := m.distinctMutations()
		if must && !ok {
			t.Fatalf("nothing is told of %v", listed)
		}
		if must && len(want) > 0 && cmp.Diff(want, got) != "" {
			t.Fatalf("the map differs from the list:\n%s", cmp.Diff(want, got))
		}
		if !ok {
			return
		}
		var ranges []kv.KeyRange
		for i := range got {
			ranges = append(ranges, keys.Single(got[i].Key))
		}
		do, merged := m.appendMutations(nil, []byte{}, nil), m.conflictRanges()
		if d := cmp.Diff(do, got) + cmp.Diff(merged, keys.Merge(ranges)); d != "" {
			t.Fatalf("it is not what a commit must do:\n%s", d)
		}
		counted, size := requestSize(&txn.Request{Mutations: do, Writes: merged}, nil), requestSize(&txn.Request{Mutations: got, Pointwise: true}, nil)
		if size != counted {
			t.Fatalf("it counts %d bytes, want %d", size, counted)
		}
	})
}

// TestTouchingClears clears two keys that follow each other at once: a commit sends one clear.
func TestTouchingClears(t *testing.T) {
	m := &writeMap{}
	m.addClear([]byte("a"), []byte("a\x00"), true)
	m.addClear([]byte("a\x00"), []byte("a\x00\x00"), true)
	if told, ok := m.distinctMutations(); ok {
		t.Errorf("they are sent as %v", told)
	}
	if sent := m.appendMutations(nil, []byte{}, nil); len(sent) != 1 {
		t.Errorf("they are %v", sent)
	}
}

// TestMisses compares what a list tells of a range with what is on it: also as it
// grows, as long as it answers.
func TestMisses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &writeMap{}
		for range 3 {
			m.listed = append(m.listed, drawListed(t, "listed")...)
			r := kv.KeyRange{Begin: orderKey(rapid.IntRange(0, 100).Draw(t, "begin")), End: orderKey(rapid.IntRange(0, 100).Draw(t, "end"))}
			within := func(l mutation.Mutation) bool {
				return string(r.Begin) <= string(l.Key) && string(l.Key) < string(r.End)
			}
			asked := 2*len(m.byKey) < len(m.listed)
			if got, want := m.missesRange(r.Begin, r.End), asked && !slices.ContainsFunc(m.listed, within); got != want && string(r.Begin) < string(r.End) {
				t.Fatalf("that nothing is in %q: %v, want %v", r, got, want)
			}
		}
	})
}

// drawListed draws operations on single keys, of which some are equal and some may
// follow each other at once.
func drawListed(t *rapid.T, label string) []mutation.Mutation {
	candidates := [][]byte{{}, []byte("a"), []byte("ab"), []byte("b")}
	if rapid.Bool().Draw(t, "near") {
		candidates = append(candidates, []byte{0}, []byte("a\x00"), []byte("a\x00\x00"), []byte("b\x00"))
	}
	for i := range rapid.SampledFrom([]int{0, 10, 100}).Draw(t, "others") {
		candidates = append(candidates, orderKey(i))
	}
	ops := []kv.MutationType{mutation.OpSet, mutation.OpClearRange, kv.Add, kv.BitOr, kv.AppendIfFits, kv.CompareAndClear, kv.SetVersionstampedValue, kv.ByteMin}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) mutation.Mutation {
		m := mutation.Mutation{Op: rapid.SampledFrom(ops).Draw(t, "op"), Key: rapid.SampledFrom(candidates).Draw(t, "key")}
		if m.Value = rapid.SliceOfN(rapid.Byte(), 1, 3).Draw(t, "operand"); m.Op == mutation.OpClearRange {
			m.Value = keys.Successor(m.Key)
		}
		return m
	}), 1, 120).Draw(t, label)
}

// checkEntries compares two maps, entry by entry.
func checkEntries(t *rapid.T, got, want *writeMap) {
	t.Helper()
	if diff := cmp.Diff(entriesOf(want), entriesOf(got), cmp.AllowUnexported(enteredAt{}, writeEntry{}, operation{}, span{})); diff != "" {
		t.Fatalf("entries (-entered +built):\n%s", diff)
	}
}

// enteredAt is an entry with its key.
type enteredAt struct {
	key   string
	entry writeEntry
}

func entriesOf(m *writeMap) (all []enteredAt) {
	var c btree.Cursor[writeEntry]
	for ok := c.Seek(&m.entries, nil); ok; ok = c.Next() {
		all = append(all, enteredAt{string(c.Key()), *c.Value()})
	}
	return all
}

func orderKey(i int) []byte { return fmt.Appendf(nil, "a key of 24 bytes %06d", i) }

// TestKnownKeys compares the set with one flag for each of few keys.
func TestKnownKeys(t *testing.T) {
	const keys = 40
	name := func(i int) []byte { return fmt.Appendf(nil, "%02d", i) }
	rapid.Check(t, func(t *rapid.T) {
		var set knownKeys
		var model [keys + 1]bool
		for range rapid.IntRange(1, 30).Draw(t, "adds") {
			begin := rapid.IntRange(0, keys).Draw(t, "begin")
			end := rapid.IntRange(0, keys).Draw(t, "end")
			set.add(kv.KeyRange{Begin: name(begin), End: name(end)})
			for i := begin; i < end; i++ {
				model[i] = true
			}
			from := rapid.IntRange(0, keys-1).Draw(t, "from")
			to := rapid.IntRange(from+1, keys).Draw(t, "to")
			want := slices.Contains(model[from:to], true)
			if got := set.overlaps(kv.KeyRange{Begin: name(from), End: name(to)}); got != want {
				t.Fatalf("touches %d to %d: %t, want %t", from, to, got, want)
			}
			if rapid.Bool().Draw(t, "look") {
				checkAround(t, &set, model[:], rapid.IntRange(1, keys-1).Draw(t, "at"), name)
			}
		}
	})
}

// checkAround compares what the set says of the keys around one.
func checkAround(t *rapid.T, set *knownKeys, model []bool, at int, name func(int) []byte) {
	for _, below := range []bool{false, true} {
		i := at
		if below {
			i--
		}
		want := model[i]
		lo, hi := i, i+1
		for lo > 0 && model[lo-1] == want {
			lo--
		}
		for hi < len(model) && model[hi] == want {
			hi++
		}
		r, known := set.around(name(at), below)
		begin, end := string(name(lo)), string(name(hi))
		if !want && lo == 0 {
			begin = ""
		}
		if !want && hi == len(model) {
			end = string(keys.SystemEnd)
		}
		if known != want || string(r.Begin) != begin || string(r.End) != end {
			t.Fatalf("around %d (below %t): %q to %q known %t, want %q to %q known %t", at, below, r.Begin, r.End, known, begin, end, want)
		}
	}
}

// TestInvertedRange reads from a key after \xff to a selector that finds no key: it ends at
// \xff, before it begins. Such a read is empty, and reads nothing of the view.
func TestInvertedRange(t *testing.T) {
	for _, withoutOwn := range []bool{false, true} {
		for _, reverse := range []bool{false, true} {
			t.Run(fmt.Sprintf("without own writes %t, reverse %t", withoutOwn, reverse), func(t *testing.T) {
				tx := NewClient(&fakeEngine{view: newFakeView(map[string]string{"a": "1"}, false)}, kv.TransactionOptions{}).Begin()
				defer tx.Cancel()
				if withoutOwn {
					if err := tx.SetOption(kv.OptionReadYourWritesDisable, 0); err != nil {
						t.Fatal(err)
					}
				}
				pairs, err := tx.GetRange(kv.SelectorRange{
					Begin: kv.FirstGreaterThan([]byte("\xff")),
					End:   kv.KeySelector{Key: []byte("a"), Offset: 5},
				}, kv.RangeOptions{Reverse: reverse}).Slice(t.Context())
				if err != nil || len(pairs) != 0 {
					t.Errorf("%q, %v, want nothing", pairs, err)
				}
			})
		}
	}
}
