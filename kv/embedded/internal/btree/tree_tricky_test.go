// SPDX-License-Identifier: Apache-2.0

package btree

import (
	"maps"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/tricky"
)

// TestTreeTrickyKeys compares a tree with a map: keys that begin alike, whose
// heads are equal, that end with zero bytes, and the empty one.
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
