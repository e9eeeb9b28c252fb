// SPDX-License-Identifier: Apache-2.0

// Package placement decides at which member each virtual actor is active, one
// member at a time, and finds active actors again. Its core is a [Coordinator],
// which does no I/O. Package driver executes its decisions. Most programs use
// package host.
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
// A coordinator activates a key only under a lease. The epoch of a lease is greater
// than all epochs before it for the key, so it serves as a fence. A coordinator
// reports that a key is active here only after the activation was stored under the
// lease. Everything that it has acquired is in use, was given back, or is being
// given back. It answers every resolve once. Clocks affect when something happens,
// never whether it is allowed.
//
// Members with the same topology agree on the members of keys without asking each
// other ([Rendezvous]). While their topologies differ, the claim decides: the loser
// gets the holder of the key.
package placement
