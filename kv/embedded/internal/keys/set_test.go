// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/btree"
)

func rangeKey(i int) []byte { return fmt.Appendf(nil, "key %06d", i) }

// TestRangeSetBuild checks that a set which is built at once is the same as one
// into which the ranges were joined one after the other.
func TestRangeSetBuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ranges []kv.KeyRange
		var built, joined Set
		for range rapid.IntRange(1, 60).Draw(t, "ranges") {
			begin := rapid.IntRange(0, 90).Draw(t, "begin")
			r := kv.KeyRange{Begin: rangeKey(begin), End: rangeKey(begin + rapid.IntRange(1, 9).Draw(t, "length"))}
			ranges = append(ranges, r)
			joined.Join(r)
		}
		built.Build(ranges)
		if diff := cmp.Diff(rangesOf(&joined), rangesOf(&built)); diff != "" || built.Len() != joined.Len() {
			t.Fatalf("%d ranges, want %d (-joined +built):\n%s", built.Len(), joined.Len(), diff)
		}
	})
}

func rangesOf(s *Set) (all []kv.KeyRange) {
	var c btree.Cursor[rangeEnd]
	for ok := c.Seek(&s.ends, nil); ok; ok = c.Next() {
		all = append(all, kv.KeyRange{Begin: c.Key(), End: c.Value().key})
	}
	return all
}
