// SPDX-License-Identifier: Apache-2.0

// Package core is one Raft node without clock, network and goroutine: the consensus of
// go.etcd.io/raft on the timers of package rafttimer.
//
// # How elections and heartbeats are driven
//
// etcd/raft has no clock. It counts calls of Tick, and starts an election when a follower or
// candidate has counted a number that it draws itself. A Core never calls Tick on a
// follower or candidate, so that this count stays zero and those elections never begin.
// The timers say what to do instead:
//
//   - An election timeout calls Campaign.
//   - A heartbeat calls Tick on the leader. HeartbeatTick is 1, so each tick sends one
//     heartbeat. A leader's ticks also count the interval of CheckQuorum, and the end of a
//     leadership transfer.
//   - A role change of etcd/raft becomes the same role change of the timers. A pre-candidate counts
//     as a candidate. Every candidacy draws a new timeout, and so does a follower of a new leader.
//   - Contact is called for a MsgApp, MsgHeartbeat or MsgSnap of the leader of the present term,
//     and for a vote that the node grants. Nothing else postpones an election: not a refused vote,
//     not a higher term alone, not a pre-vote. (etcd/raft's own count also begins anew with each
//     higher term.)
//
// # CheckQuorum and PreVote
//
// With Config.Sticky the leader steps down when it has not heard from a majority
// for as many heartbeats as fit into the minimum election timeout, and a node asks
// for pre-votes before it raises its term. A follower then ignores requests for
// votes while it has a leader that it has heard from within the minimum election
// timeout. etcd/raft measures that time in ticks of the follower. A Core gives a
// follower no ticks, so etcd/raft would ignore requests for ever. So a Core
// measures the time by the timers' clock, and calls ForgetLeader when a request
// arrives after the time is over.
//
// # Order
//
// A Core makes the entries and the state of a Ready of etcd/raft durable before its
// messages are sent and its committed entries applied.
package core
