// SPDX-License-Identifier: Apache-2.0

// Package mux runs the timers of many Raft groups in a handful of goroutines: a process that hosts
// 100,000 groups would need as many goroutines and system timers with a [rafttimer.Driver] for each.
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
// A [Group] has the role changes, the contacts and the guarantees of a Driver, and a [rafttimer.Machine] of its
// own. It has no verbs of single timers: its role says which of them run.
//
// # Cost
//
// A contact moves a number: it takes no lock, and no timer is set anew. When the deadline that it
// has moved comes up, the Mux finds the new one. So a group that is alive costs one look per election
// timeout, not one per message; eight groups share a look. A stopped group costs nothing. Messages that speak for many groups
// need one reading of the clock, see [Group.ContactAt].
//
// A Mux keeps about 30 bytes for each of the most groups that it has had at a time, until it is garbage itself. New
// groups use them again.
//
// # Precision
//
// Deadlines are kept by a hierarchical timing wheel: Varghese and Lauck, "Hashed and Hierarchical Timing
// Wheels: Data Structures for the Efficient Implementation of a Timer Facility", SOSP 1987. Its tick is
// Options.Resolution. An event never comes before its deadline, and at most one resolution after it, plus the
// lateness of the system's timer and of handlers that run before. Events of one tick come in any order.
//
// # Stalls
//
// If the machine was suspended for longer than Config.StallThreshold, every group whose timers run is
// told so by a [rafttimer.Stall]. If the process stood still otherwise, or a handler kept
// its shard waiting, the groups are told whose deadlines passed that long ago.
package mux
