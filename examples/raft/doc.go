// SPDX-License-Identifier: Apache-2.0

// Command raft runs five Raft nodes in one process, on TCP, with a replicated map on top. Elections and
// heartbeats come from package rafttimer. It shows an election, kills the leader, shows the next
// election, starts the killed node again, and prints how long each took.
//
//	go run .
//	go run . -nodes 3
package main
