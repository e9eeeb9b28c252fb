// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
)

// TestSelectorsFarFromTheirKeys reads ranges whose selectors count more pairs
// than the bytes of a batch allow: requests go on for rows when their bytes are
// used up.
func TestSelectorsFarFromTheirKeys(t *testing.T) {
	const n = 300
	var keys []string
	for i := range n {
		keys = append(keys, fmt.Sprintf("k%03d/%060d", i, i))
	}
	db := memoryWith(t, keys...)
	key := func(i int) []byte { return []byte(keys[i]) }
	for _, mode := range []kv.StreamingMode{kv.ModeSmall, kv.ModeIterator, kv.ModeWantAll} {
		for _, far := range []int{2, 20, 120} {
			for _, reverse := range []bool{false, true} {
				t.Run(fmt.Sprintf("mode %d far %d reverse %t", mode, far, reverse), func(t *testing.T) {
					tx, err := db.Begin()
					if err != nil {
						t.Fatal(err)
					}
					defer tx.Cancel()
					tx.Clear(key(n / 2)) // an own write: the engine then walks as FoundationDB's client does
					want := slices.Delete(slices.Clone(keys), n/2, n/2+1)[far : n-1-far]
					r := kv.SelectorRange{
						Begin: kv.FirstGreaterOrEqual(key(0)).Add(far),
						End:   kv.FirstGreaterOrEqual(kv.KeyAfter(key(n - 1))).Add(-far),
					}
					pairs, err := tx.GetRange(r, kv.RangeOptions{Mode: mode, Reverse: reverse}).Slice(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, pair := range pairs {
						got = append(got, string(pair.Key))
					}
					if reverse {
						slices.Reverse(got)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
				})
			}
		}
	}
}

// TestSelectorsAcross reads every range between two selectors near few keys,
// those included whose keys are the other way round than what they select.
func TestSelectorsAcross(t *testing.T) {
	keys := []string{"b", "d", "f", "h"}
	db := memoryWith(t, keys...)
	ctx := t.Context()
	read := func(tx kv.ReadTransaction, r kv.SelectorRange, o kv.RangeOptions) ([]kv.KeyValue, error) {
		return tx.GetRange(r, o).Slice(ctx)
	}
	ways := map[string]func(kv.SelectorRange, kv.RangeOptions) ([]kv.KeyValue, error){
		"of the database": func(r kv.SelectorRange, o kv.RangeOptions) ([]kv.KeyValue, error) {
			return kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) { return read(tx, r, o) })
		},
		"of a transaction": func(r kv.SelectorRange, o kv.RangeOptions) ([]kv.KeyValue, error) {
			return kv.Transact(ctx, db, func(tx kv.Transaction) ([]kv.KeyValue, error) { return read(tx, r, o) })
		},
		"over own writes": func(r kv.SelectorRange, o kv.RangeOptions) ([]kv.KeyValue, error) {
			return kv.Transact(ctx, db, func(tx kv.Transaction) ([]kv.KeyValue, error) {
				tx.Set([]byte("d"), []byte("d"))
				tx.Clear([]byte("e"))
				return read(tx, r, o)
			})
		},
	}
	var selectors []kv.KeySelector
	for _, key := range []string{"a", "b", "c", "f", "h", "i"} {
		for offset := -5; offset <= 5; offset++ {
			selectors = append(selectors, kv.FirstGreaterOrEqual([]byte(key)).Add(offset))
		}
	}
	for way, read := range ways {
		for i, begin := range selectors {
			for j, end := range selectors {
				o := kv.RangeOptions{Limit: i * j % 4, Reverse: (i+j)%2 == 0, Mode: []kv.StreamingMode{kv.ModeIterator, kv.ModeWantAll, kv.ModeSmall}[(i+j)%3]}
				pairs, err := read(kv.SelectorRange{Begin: begin, End: end}, o)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, pair := range pairs {
					got += string(pair.Key)
				}
				if want := between(keys, begin, end, o); got != want {
					t.Errorf("%s, %v to %v, %+v: %q, want %q", way, begin, end, o, got, want)
				}
			}
		}
	}
}

// between returns the keys between two selectors, which are counted out.
func between(keys []string, begin, end kv.KeySelector, o kv.RangeOptions) (all string) {
	place := func(sel kv.KeySelector) int {
		first, _ := slices.BinarySearch(keys, string(sel.Key))
		return min(max(first+sel.Offset-1, 0), len(keys))
	}
	for i := place(begin); i < place(end); i++ {
		if o.Reverse {
			all = keys[i] + all
		} else {
			all += keys[i]
		}
	}
	if o.Limit > 0 && len(all) > o.Limit {
		return all[:o.Limit]
	}
	return all
}
