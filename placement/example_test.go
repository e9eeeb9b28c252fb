// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

func ExampleRendezvous() {
	c := placement.Candidates{Members: []placement.Member{
		{Owner: placement.Owner{Name: "a", Incarnation: 1}}, {Owner: placement.Owner{Name: "b", Incarnation: 1}}, {Owner: placement.Owner{Name: "c", Incarnation: 1}},
	}}
	for _, id := range []string{"alice", "bob", "carol", "dave"} {
		i := placement.Rendezvous{}.Choose(placement.Key{Kind: "account", ID: id}, c)
		fmt.Println(id, c.Members[i].Name)
	}
	// Output:
	// alice a
	// bob c
	// carol b
	// dave a
}
