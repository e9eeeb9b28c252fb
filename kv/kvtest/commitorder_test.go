// SPDX-License-Identifier: Apache-2.0

package kvtest

import "testing"

func TestCommitOrderOfEngines(t *testing.T) {
	for _, goroutines := range []int{2, 8, 32} {
		CheckCommitOrder(t, openMemory(t), LoadOptions{Seed: SeedT(t), Goroutines: goroutines})
	}
	CheckCommitOrder(t, HostileT(t, openMemory(t)), LoadOptions{Seed: SeedT(t), Transactions: 20})
}
