// SPDX-License-Identifier: Apache-2.0

// Package mux runs the timers of many Raft groups in a few goroutines. With a
// [rafttimer.Driver] for each group, a process with 100,000 groups would need as
// many goroutines and system timers.
//
//	m, err := mux.New(ctx, func(g *mux.Group[*Replica], e rafttimer.Event) {
//		g.Value().Notify(e) // note what to do, and wake the replica's worker up
//	}, mux.Options{})
//	defer m.Close()
//
//	replica.timers, err = m.NewGroup(replica)
//	replica.timers.BecomeFollower()
//	replica.timers.Contact() // for each message of the leader
//
// A [Group] has the role changes, the contacts and the guarantees of a Driver, and
// a [rafttimer.Machine] of its own. It has no methods for single timers: its role
// decides which of them run.
//
// # Cost
//
// A contact changes one number: it takes no lock and sets no timer. At the earlier
// deadline the Mux finds the later one. So a live group costs one check per
// election timeout, not one per message; eight groups share a check. A stopped
// group costs nothing. A message for many groups needs one reading of the clock,
// see [Group.ContactAt].
//
// A Mux keeps about 30 bytes for each group of the largest number that it has had
// at a time, until it is garbage itself. New groups use them again.
//
// # Precision
//
// A hierarchical timing wheel keeps the deadlines: Varghese and Lauck, "Hashed and
// Hierarchical Timing Wheels: Data Structures for the Efficient Implementation of a
// Timer Facility", SOSP 1987. Its tick is Options.Resolution. An event never comes
// before its deadline, and at most one resolution after it, plus the lateness of
// the system's timer and of handlers that run before. Events of one tick come in
// any order.
//
// # Stalls
//
// If the machine was suspended for longer than Config.StallThreshold, every group
// whose timers run gets a [rafttimer.Stall]. If the process stood still for another
// reason, or a handler blocked its shard, the groups get one whose deadlines passed
// that long ago.
package mux
