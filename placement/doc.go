// SPDX-License-Identifier: Apache-2.0

// Package placement decides where virtual actors are active, so that each is
// active at one place, and finds them again. A [Coordinator] is the core: it does no
// I/O. Package driver executes what it decides; package host is what most programs use.
//
//	c, err := placement.NewCoordinator(placement.Options{Self: placement.Owner{Name: "a", Incarnation: 1}, Address: "10.0.0.1:7000"})
//	c.StartMember([]string{"account"}, now)
//	c.UpdateTopology(topology, now) // which members there are
//	out, err := c.Resolve(placement.Key{Kind: "account", ID: "alice"}, now)
//	if out.Resolution != nil {
//		return *out.Resolution // active here, or at another member
//	}
//	for _, command := range out.Commands { // claim the key, activate it, store where it is
//		results <- execute(command)
//	}
//	out, err = c.HandleCommandResult(<-results, now) // more commands; in the end out.Answers has the answer to out.Request
//
// # What holds
//
// A coordinator activates a key only under a lease, whose epoch is greater than
// all before it for the key: a fence. It says that a key is active here only once the activation
// is stored under the lease. All that it has acquired is in use, was given
// back, or is being given back. Every resolve is answered once. Clocks decide when, never whether.
//
// Members of a topology agree on where keys belong without asking each other
// ([Rendezvous]). Where their topologies differ for a while, the claim decides: the loser is told who has the key.
package placement
