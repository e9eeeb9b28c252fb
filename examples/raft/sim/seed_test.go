// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedVariable names the environment variable that takes the seed of a random
// test back.
const seedVariable = "KAZAHANA_SEED"

// seeds returns the seeds of a test's runs: that which seedVariable has, or n that are drawn.
func seeds(t *testing.T, n int) []uint64 {
	t.Helper()
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		return []uint64{seed}
	}
	drawn := make([]uint64, n)
	for i := range drawn {
		drawn[i] = rand.Uint64()
	}
	return drawn
}
