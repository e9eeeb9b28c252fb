// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// A program that gets its members from elsewhere, here from a list, passes them by a function.
// This one has no host and chooses members by itself.
func ExampleSource() {
	var pods membership.Source = func(_ context.Context, deliver func(placement.Topology)) error {
		deliver(placement.Topology{Version: 1, Members: []placement.Member{
			{Owner: placement.Owner{Name: "pod-0", Incarnation: 1}, Address: "10.1.0.4:7400", Kinds: []string{"account"}},
			{Owner: placement.Owner{Name: "pod-1", Incarnation: 1}, Address: "10.1.0.5:7400", Kinds: []string{"account"}},
		}})
		return nil // a real one waits for changes until the context ends
	}

	var members placement.Candidates
	err := pods(context.Background(), func(t placement.Topology) {
		switch err := t.Validate(); {
		case err != nil:
			log.Println(err)
		case t.Version > members.Topology: // an older one changes nothing
			able := slices.DeleteFunc(slices.Clone(t.Members), func(m placement.Member) bool {
				return m.Draining || !slices.Contains(m.Kinds, "account")
			})
			members = placement.NewCandidates(able, placement.Owner{}, t.Version)
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"alice", "bob", "carol"} {
		m := members.Members[placement.Rendezvous{}.Choose(placement.Key{Kind: "account", ID: id}, members)]
		fmt.Println(id, m.Owner, m.Address)
	}
	// Output:
	// alice pod-1#1 10.1.0.5:7400
	// bob pod-1#1 10.1.0.5:7400
	// carol pod-0#1 10.1.0.4:7400
}
