// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "fmt"

// Role is what a node is in Raft. It decides which timers run, see
// [Role.Timers].
type Role uint8

// Roles. A [Machine] starts with NoRole: then the caller starts and stops
// single timers.
const (
	NoRole Role = iota
	Follower
	Candidate
	Leader
)

// String returns the role in lower case.
func (r Role) String() string {
	names := [...]string{"node without a role", "follower", "candidate", "leader"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}

// Timers returns the timers that run in the role: the election timeout of
// followers and candidates, the heartbeats of leaders. With NoRole none has to run.
func (r Role) Timers() TimerState {
	return TimerState{
		ElectionTimeout:   r == Follower || r == Candidate,
		HeartbeatInterval: r == Leader,
	}
}

// TimerState tells which timers run.
type TimerState struct {
	ElectionTimeout   bool
	HeartbeatInterval bool
}

// String returns, for example, "election timeout on, heartbeats off".
func (s TimerState) String() string {
	words := map[bool]string{false: "off", true: "on"}
	return fmt.Sprintf("election timeout %s, heartbeats %s", words[s.ElectionTimeout], words[s.HeartbeatInterval])
}
