// SPDX-License-Identifier: Apache-2.0

// Package node runs one Raft node on TCP: a core.Core, timed by a rafttimer.Driver, with a replicated map
// on top.
//
// One goroutine owns the core. It takes messages, the timers' events and requests
// one after the other. Each other node has a goroutine that writes to it from a
// queue of its own: a message for a full queue is lost, as Raft allows, so that a
// slow or dead node delays no other.
//
// Writes go through the log; reads are linearizable by ReadIndex: the leader asks a majority whether
// it still leads, and the node waits until it has applied what the leader had committed.
//
// The connections are neither encrypted nor authenticated, and members are fixed.
package node
