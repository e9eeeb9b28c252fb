// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
)

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
