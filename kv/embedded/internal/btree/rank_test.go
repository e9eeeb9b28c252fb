// SPDX-License-Identifier: Apache-2.0

package btree

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
)

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
