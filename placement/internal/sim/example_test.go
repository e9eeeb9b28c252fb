// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"

	"github.com/kazahana-db/kazahana/placement/internal/sim"
)

// The program as it is passes; one whose home grants an epoch twice is caught.
func Example() {
	_, err := sim.Run(1, sim.Options{})
	fmt.Println(err)

	_, err = sim.Run(1, sim.Options{Mutation: sim.ReuseEpochs})
	fmt.Println(sim.AsViolation(err).Kind)
	// Output:
	// <nil>
	// an epoch was granted twice, or is not greater than one before
}
