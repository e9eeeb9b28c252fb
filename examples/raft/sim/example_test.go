// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/sim"
)

func ExampleRun() {
	options := sim.Options{
		Drift:   0.2,
		Network: sim.Network{MinDelay: time.Millisecond, MaxDelay: 10 * time.Millisecond},
	}
	result, err := sim.Run(42, options)
	fmt.Println(result.Leaders > 0, err)
	// Output: true <nil>
}

func ExampleRunTakeover() {
	takeover, err := sim.RunTakeover(42, sim.Options{})
	fmt.Println(takeover.Took < time.Second, err)
	// Output: true <nil>
}
