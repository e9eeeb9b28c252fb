// SPDX-License-Identifier: Apache-2.0

package btree

import (
	"fmt"
	"slices"
	"testing"
)

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
