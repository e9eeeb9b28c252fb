// SPDX-License-Identifier: Apache-2.0

// Package sim runs members of a placement in virtual time, and reports violations
// of placement's promises.
//
// Each process is a placement.Coordinator in a driver.Driver, as programs run them;
// the home of locks and entries is package memory's, in one of its two modes, or
// any [Store]. Its tests also run package kvstore on an engine, and clusters of the
// real members with goroutines, in virtual time but not by one schedule. The
// members' leases are a model, the registry: members renew, others observe that
// they do, and evict those that do not. The simulation takes no real time and has
// one goroutine. All choices come from a seed: the same seed gives the same run.
//
// A [plan] makes 100 to 160 calls of actors in 30 seconds, and meanwhile crashes, pauses and isolates machines,
// cuts them off from each other, loses, delays and doubles commands, results and
// messages, sets clocks, has the store recover with a jump of its clock, lets members leave
// and join anew, evicts them, and has executors fail. Topologies arrive late, in any order,
// twice, or not at all. Clocks differ, and go at rates of their own.
//
// An actor keeps the value of its register in memory. For each call it writes the
// next value, in the step of the store in which its fence is checked. A paused
// process may wake in the middle of that step and go on. The oracle sees the state
// of all processes. It reports a [Violation] if
//
//   - epochs of a key do not grow, or two activations write under one,
//   - an effect comes after one of a greater epoch, or overwrites one that it has not seen,
//   - a key is in use at two members that are both alive,
//   - a key resolves to a process in which it is not active,
//   - a resolve is answered twice, not at all, or later than the timeout of its request allows,
//   - events of a process are not in the order of what happened,
//   - some process does not reach some key within [Bound] after all faults have
//     ended, or processes do not agree then on where a key is,
//   - a process that leaves cleanly keeps something, or does not end.
//
// Each [Mutation] puts a fault into the program that the oracle must find. [Shrink] reduces
// a plan that fails to the steps that matter.
package sim
