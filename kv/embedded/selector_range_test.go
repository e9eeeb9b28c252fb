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
