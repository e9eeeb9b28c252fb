// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"math/rand/v2"
	"os"
	"strconv"
)

// seedVariable names the environment variable that takes the seed of a random
// test back.
const seedVariable = "KAZAHANA_SEED"

// random returns the random numbers of a test. It logs their seed.
func (f *fixture) random() *rand.Rand {
	f.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			f.Fatalf("%s: %v", seedVariable, err)
		}
	}
	f.Logf("repeat it with %s=%d", seedVariable, seed)
	return rand.New(rand.NewPCG(seed, 0))
}
