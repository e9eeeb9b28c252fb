// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// A program that gets its members from elsewhere, here from a list, passes them by a function.
// This one is a client; a member would be told the same topologies.
func ExampleSource() {
	var pods membership.Source = func(_ context.Context, deliver func(placement.Topology)) error {
		deliver(placement.Topology{Version: 1, Members: []placement.Member{
			{Owner: placement.Owner{Name: "pod-0", Incarnation: 1}, Address: "10.1.0.4:7400", Kinds: []string{"account"}},
			{Owner: placement.Owner{Name: "pod-1", Incarnation: 1}, Address: "10.1.0.5:7400", Kinds: []string{"account"}},
		}})
		return nil // a real one waits for changes until the context ends
	}

	ctx := context.Background()
	coordinator, err := placement.NewCoordinator(placement.Options{Self: placement.Owner{Name: "web-0", Incarnation: 1}})
	if err != nil {
		log.Fatal(err)
	}
	lookup := placement.NewPartition(coordinator)
	if err := lookup.SetupClient(time.Now()); err != nil {
		log.Fatal(err)
	}
	err = pods(ctx, func(t placement.Topology) {
		if err := lookup.UpdateTopology(t, time.Now()); err != nil {
			log.Println(err) // it has faults, or is older than the one in force
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"alice", "bob", "carol"} {
		where, err := lookup.Resolve(placement.Key{Kind: "account", ID: id}, time.Now())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id, where.Owner, where.Address)
	}
	fmt.Println(lookup.Stop(time.Now()))
	// Output:
	// alice pod-1#1 10.1.0.5:7400
	// bob pod-1#1 10.1.0.5:7400
	// carol pod-0#1 10.1.0.4:7400
	// <nil>
}
