// SPDX-License-Identifier: Apache-2.0

package btree

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/tricky"
)

// sortedMap is the naive model of a tree.
type sortedMap map[string]int

func (m sortedMap) keys() []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func (m sortedMap) clone() sortedMap {
	c := sortedMap{}
	for k, v := range m {
		c[k] = v
	}
	return c
}

func contents(t *Tree[int]) (keys []string, values []int) {
	var c Cursor[int]
	for ok := c.Seek(t, nil); ok; ok = c.Next() {
		keys = append(keys, string(c.Key()))
		values = append(values, *c.Value())
	}
	return keys, values
}

func checkTree(t *rapid.T, what string, tr *Tree[int], m sortedMap) {
	t.Helper()
	keys, values := contents(tr)
	want := m.keys()
	if len(want) == 0 {
		want = nil
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Fatalf("%s: keys mismatch (-want +got):\n%s", what, diff)
	}
	for i, k := range keys {
		if values[i] != m[k] {
			t.Fatalf("%s: value of %q is %d, want %d", what, k, values[i], m[k])
		}
	}
	top := int64(0)
	for _, v := range m {
		top = max(top, int64(v))
	}
	if tr.root != nil && tr.root.Top != top {
		t.Fatalf("%s: highest rank %d, want %d", what, tr.root.Top, top)
	}
	checkLive(t, what, tr, keys, values)
}

// liveRank counts the multiples of seven as live.
func liveRank(v *int) Rank { return Rank{Top: int64(*v), Live: *v%7 == 0} }

// checkLive goes from each entry to the next live one, in both directions.
func checkLive(t *rapid.T, what string, tr *Tree[int], keys []string, values []int) {
	t.Helper()
	expect := func(direction, from, want string, ok bool, c *Cursor[int]) {
		t.Helper()
		got := ""
		if ok {
			got = string(c.Key())
		}
		if got != want {
			t.Fatalf("%s: the %s live entry from %q on is %q, want %q", what, direction, from, got, want)
		}
	}
	next, prev := "", ""
	for i := range keys {
		j := len(keys) - 1 - i
		if values[j]%7 == 0 {
			next = keys[j]
		}
		if values[i]%7 == 0 {
			prev = keys[i]
		}
		var c Cursor[int]
		c.Seek(tr, []byte(keys[j]))
		expect("next", keys[j], next, c.NextLive(tr), &c)
		c.Seek(tr, []byte(keys[i]))
		expect("previous", keys[i], prev, c.PrevLive(tr), &c)
	}
	var c Cursor[int]
	if len(keys) > 0 {
		c.Last(tr)
		expect("last", "", keys[len(keys)-1], c.Valid(), &c)
	}
}

// TestTreeModel compares a tree and snapshots of it with plain maps.
func TestTreeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := Tree[int]{rank: liveRank}
		model := sortedMap{}
		key := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("%03d", rapid.IntRange(0, 400).Draw(t, "key"))
		})
		type treeCopy struct {
			tree  Tree[int]
			model sortedMap
		}
		var snapshots []treeCopy
		for i := range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0:
				k := key.Draw(t, "k")
				_, present := model[k]
				if tr.Remove([]byte(k)) != present {
					t.Fatalf("remove(%q) does not say %v", k, present)
				}
				delete(model, k)
			case 1:
				a, b := key.Draw(t, "a"), key.Draw(t, "b")
				tr.RemoveRange([]byte(a), []byte(b))
				for k := range model {
					if a <= k && k < b {
						delete(model, k)
					}
				}
			case 2:
				snapshots = append(snapshots, treeCopy{tr.Snapshot(), model.clone()})
			case 3:
				for n := range 40 { // a run of neighbours, so that nodes split
					k := fmt.Sprintf("%s-%d", key.Draw(t, "k"), n)
					tr.Set([]byte(k), i)
					model[k] = i
				}
			default:
				k := key.Draw(t, "k")
				tr.Set([]byte(k), i)
				model[k] = i
			}
		}
		checkTree(t, "tree", &tr, model)
		for i := range snapshots {
			checkTree(t, fmt.Sprintf("snapshot %d", i), &snapshots[i].tree, snapshots[i].model)
		}
		checkSeeks(t, &tr, model, key.Draw(t, "probe"))
	})
}

// TestTreeRefilled removes long ranges and fills them again: inner nodes are left
// with one kid, and get others. All keys begin alike, so that nodes skip a prefix.
func TestTreeRefilled(t *testing.T) {
	const keys = 10 * fanout * fanout
	random := seed.Rand(t)
	for range 3 {
		var tr Tree[int]
		model := sortedMap{}
		fill := func(begin, end int) {
			for _, i := range random.Perm(end - begin) {
				k := fmt.Sprintf("prefix %06d", begin+i)
				tr.Set([]byte(k), i)
				model[k] = i
			}
		}
		fill(0, keys)
		for range 100 {
			_ = tr.Snapshot()
			begin := random.IntN(keys)
			end := begin + random.IntN(min(keys-begin, fanout*fanout)) + 1
			a, b := fmt.Sprintf("prefix %06d", begin), fmt.Sprintf("prefix %06d", end)
			tr.RemoveRange([]byte(a), []byte(b))
			maps.DeleteFunc(model, func(k string, _ int) bool { return a <= k && k < b })
			fill(begin+random.IntN(end-begin), end)
		}
		got, values := contents(&tr)
		if diff := cmp.Diff(model.keys(), got); diff != "" {
			t.Fatalf("keys mismatch (-want +got):\n%s", diff)
		}
		for i, k := range got {
			if values[i] != model[k] || *tr.Get([]byte(k)) != model[k] {
				t.Fatalf("value of %q is %d, want %d", k, values[i], model[k])
			}
		}
	}
}

func checkSeeks(t *rapid.T, tr *Tree[int], m sortedMap, probe string) {
	keys := m.keys()
	at := sort.SearchStrings(keys, probe)
	expect := func(what string, i int, ok bool, c *Cursor[int]) {
		if want := i >= 0 && i < len(keys); ok != want {
			t.Fatalf("%s(%q) = %v, want %v", what, probe, ok, want)
		}
		if ok && !bytes.Equal(c.Key(), []byte(keys[i])) {
			t.Fatalf("%s(%q) is at %q, want %q", what, probe, c.Key(), keys[i])
		}
	}
	var c Cursor[int]
	expect("seek", at, c.Seek(tr, []byte(probe)), &c)
	expect("seekBelow", at-1, c.SeekBelow(tr, []byte(probe)), &c)
	floor := at - 1
	if at < len(keys) && keys[at] == probe {
		floor = at
	}
	expect("seekFloor", floor, c.SeekFloor(tr, []byte(probe)), &c)
	i := len(keys) - 1
	for ok := c.SeekBelow(tr, []byte{0xff}); ok; ok = c.Prev() {
		expect("prev", i, true, &c)
		i--
	}
	if i != -1 {
		t.Fatalf("prev stopped %d entries before the first", i+1)
	}
}

// TestTreeTrickyKeys compares a tree with a map: keys that begin alike, that
// have equal heads, that end with zero bytes, and the empty one.
func TestTreeTrickyKeys(t *testing.T) {
	random, rounds := seed.Rand(t), 200
	if testing.Short() {
		rounds = 40
	}
	for range rounds {
		tr := Tree[int]{rank: liveRank}
		model := sortedMap{}
		var treeCopy []Tree[int]
		var savedModels []sortedMap
		for i := range 400 {
			key := tricky.Key(random)
			switch random.IntN(24) {
			case 0:
				r := tricky.Range(random)
				tr.RemoveRange(r.Begin, r.End)
				maps.DeleteFunc(model, func(k string, _ int) bool { return string(r.Begin) <= k && k < string(r.End) })
			case 1, 2, 3:
				_, had := model[string(key)]
				if tr.Remove(key) != had {
					t.Fatalf("remove(%q) does not say %v", key, had)
				}
				delete(model, string(key))
			case 4:
				retainSome(&tr, model, key, random.IntN(5))
			case 5:
				treeCopy = append(treeCopy, tr.Snapshot())
				savedModels = append(savedModels, maps.Clone(model))
			default:
				v := random.IntN(i + 1)
				tr.Set(key, v)
				model[string(key)] = v
			}
			compareTricky(t, random, &tr, model)
		}
		for i := range treeCopy {
			compareTricky(t, random, &treeCopy[i], savedModels[i])
		}
	}
}

// retainSome drops multiples of n+2 from one leaf, in tree and model.
func retainSome(tr *Tree[int], model sortedMap, from []byte, n int) {
	keys := model.keys()
	at := sort.SearchStrings(keys, string(from))
	tr.RetainLeaf(from, func(v *int) bool {
		keep := *v%(n+2) != 0
		if !keep {
			delete(model, keys[at])
		}
		at++
		return keep
	})
}

func compareTricky(t *testing.T, random *rand.Rand, tr *Tree[int], m sortedMap) {
	t.Helper()
	keys := m.keys()
	probe := tricky.Key(random)
	at := sort.SearchStrings(keys, string(probe))
	value, has := m[string(probe)]
	if got := tr.Get(probe); (got != nil) != has || has && *got != value {
		t.Fatalf("get(%q) = %v, want %d, %v", probe, got, value, has)
	}
	var c Cursor[int]
	if ok := c.Seek(tr, probe); ok != (at < len(keys)) || ok && string(c.Key()) != keys[at] {
		t.Fatalf("seek(%q) does not lead to key %d of %q", probe, at, keys)
	}
	if ok := c.SeekBelow(tr, probe); ok != (at > 0) || ok && string(c.Key()) != keys[at-1] {
		t.Fatalf("seekBelow(%q) does not lead to key %d of %q", probe, at-1, keys)
	}
	floor := at
	if !has {
		floor--
	}
	live := at
	for live < len(keys) && !liveRank(new(m[keys[live]])).Live {
		live++
	}
	if ok := c.Seek(tr, probe) && c.NextLive(tr); ok != (live < len(keys)) || ok && string(c.Key()) != keys[live] {
		t.Fatalf("nextLive from %q does not lead to key %d of %q", probe, live, keys)
	}
	key, v := tr.Floor(probe)
	if (v != nil) != (floor >= 0) || v != nil && (string(key) != keys[floor] || *v != m[keys[floor]]) {
		t.Fatalf("floor(%q) = %q, want key %d of %q", probe, key, floor, keys)
	}
	r := tricky.Range(random)
	top := int64(0)
	for k, v := range m {
		if string(r.Begin) <= k && k < string(r.End) {
			top = max(top, int64(v))
		}
	}
	if string(r.Begin) < string(r.End) && tr.TopWithin(r.Begin, r.End) != top {
		t.Fatalf("topWithin(%q) = %d, want %d", r, tr.TopWithin(r.Begin, r.End), top)
	}
}

func buildKey(i int) []byte { return fmt.Appendf(nil, "a key of 24 bytes %06d", i) }

// TestTreeBuild checks trees of all sizes that are built at once: they hold what
// they were built of and can be changed.
func TestTreeBuild(t *testing.T) {
	for _, n := range []int{0, 1, 2, built, built + 1, 2 * built, fanout * built, fanout*built + 1, built*built*built + 7} {
		var items []Item[int]
		for i := range n {
			items = append(items, Item[int]{buildKey(i), i})
		}
		var tr Tree[int]
		tr.Build(items)
		keys, values := contents(&tr)
		if len(keys) != n || !slices.IsSorted(keys) || !slices.IsSorted(values) {
			t.Fatalf("a tree of %d has %d keys, or not in order", n, len(keys))
		}
		for i := range n {
			if v := tr.Get(buildKey(i)); v == nil || *v != i {
				t.Fatalf("a tree of %d: key %d has %v", n, i, v)
			}
			tr.Set(append(buildKey(i), 'x'), -i)
		}
		if keys, _ := contents(&tr); len(keys) != 2*n || !slices.IsSorted(keys) {
			t.Fatalf("a tree of %d has %d keys after as many more were set, or not in order", n, len(keys))
		}
	}
}

// TestTreeRanks fills trees until several levels split at once, with values of
// few ranks: every node knows what is below it.
func TestTreeRanks(t *testing.T) {
	random := seed.Rand(t)
	for round := range 40 {
		tr := Tree[int]{rank: liveRank}
		for i, k := range random.Perm(2 * fanout * fanout) {
			v := 1 // no rank to speak of
			if i == 0 || round%2 == 1 && random.IntN(200) == 0 {
				v = 7 * (1 + random.IntN(1000))
			}
			if round > 20 { // ascending, but for the first
				k = (i + 2*fanout*fanout - 1) % (2 * fanout * fanout)
			}
			tr.Set(fmt.Appendf(nil, "key %06d", k), v)
			if n := tr.root; !n.leaf() {
				want := Rank{}
				for i := range int(n.n) {
					want = want.with(n.kids[i].Rank)
				}
				if n.Rank != want {
					t.Fatalf("after %d keys the root has rank %+v, its kids %+v", i+1, n.Rank, want)
				}
			}
		}
		checkRanks(t, &tr, tr.root)
	}
}

// checkRanks compares the ranks of nodes with those of the entries below.
func checkRanks(t *testing.T, tr *Tree[int], n *node[int]) (r Rank) {
	t.Helper()
	for i := range int(n.n) {
		if n.leaf() {
			r = r.with(tr.rank(&n.items[i].Value))
		} else {
			r = r.with(checkRanks(t, tr, n.kids[i]))
		}
	}
	if r != n.Rank {
		t.Fatalf("a node has rank %+v, its entries %+v", n.Rank, r)
	}
	return r
}
