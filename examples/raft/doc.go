// SPDX-License-Identifier: Apache-2.0

// Command raft runs five Raft nodes in one process, on TCP, whose elections and heartbeats come from
// package rafttimer, with a replicated map on top. It shows an election, kills the leader, shows the next
// election, starts the killed node again, and prints how long each took.
//
//	go run .
//	go run . -nodes 3
package main
