// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// seeds returns the seeds of a test's runs: n that follow each other from one that is drawn, or the
// one that [seed.Variable] sets.
func seeds(t *testing.T, n int) []uint64 {
	t.Helper()
	first := seed.Of(t)
	if seed.Given() {
		return []uint64{first}
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}
