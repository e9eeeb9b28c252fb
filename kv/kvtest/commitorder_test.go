// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
)

func TestCommitOrderOfEngines(t *testing.T) {
	for _, goroutines := range []int{2, 8, 32} {
		load := LoadOptions{Seed: seed.Of(t), Goroutines: goroutines}
		if testing.Short() {
			load.Transactions = 320 / goroutines // the check takes longer than the load, by the square of it
		}
		CheckCommitOrder(t, openMemory(t), load)
	}
	CheckCommitOrder(t, HostileT(t, openMemory(t)), LoadOptions{Seed: seed.Of(t), Transactions: 20})
}
