// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/naive"
)

func TestCommitOrderOfEngines(t *testing.T) {
	for _, goroutines := range []int{2, 8, 32} {
		load := LoadOptions{Seed: seed.Of(t), Goroutines: goroutines}
		if testing.Short() {
			load.Transactions = 320 / goroutines // the check takes longer than the load, by the square of it
		}
		CheckCommitOrder(t, naive.Open(t), load)
	}
	CheckCommitOrder(t, faults.HostileT(t, naive.Open(t)), LoadOptions{Seed: seed.Of(t), Transactions: 20})
}
