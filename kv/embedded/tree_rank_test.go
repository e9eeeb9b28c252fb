// SPDX-License-Identifier: Apache-2.0

package embedded

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
		tr := tree[int]{rank: liveRank}
		for i, k := range random.Perm(2 * fanout * fanout) {
			v := 1 // no rank to speak of
			if i == 0 || round%2 == 1 && random.IntN(200) == 0 {
				v = 7 * (1 + random.IntN(1000))
			}
			if round > 20 { // ascending, but for the first
				k = (i + 2*fanout*fanout - 1) % (2 * fanout * fanout)
			}
			tr.set(fmt.Appendf(nil, "key %06d", k), v)
			if n := tr.root; !n.leaf() {
				want := rank{}
				for i := range int(n.n) {
					want = want.with(n.kids[i].rank)
				}
				if n.rank != want {
					t.Fatalf("after %d keys the root has rank %+v, its kids %+v", i+1, n.rank, want)
				}
			}
		}
		checkRanks(t, &tr, tr.root)
	}
}

// checkRanks compares the ranks of nodes with those of the entries below.
func checkRanks(t *testing.T, tr *tree[int], n *node[int]) (r rank) {
	t.Helper()
	for i := range int(n.n) {
		if n.leaf() {
			r = r.with(tr.rank(&n.items[i].val))
		} else {
			r = r.with(checkRanks(t, tr, n.kids[i]))
		}
	}
	if r != n.rank {
		t.Fatalf("a node has rank %+v, its entries %+v", n.rank, r)
	}
	return r
}
