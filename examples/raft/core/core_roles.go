// SPDX-License-Identifier: Apache-2.0

package core

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// observeReady updates the node's status from a Ready.
func (n *Core) observeReady(r raft.Ready) {
	if !raft.IsEmptyHardState(r.HardState) {
		n.status.Term = r.HardState.GetTerm()
	}
	if r.SoftState != nil {
		n.status.State, n.status.Leader = r.SoftState.RaftState, r.SoftState.Lead
	}
}

// adoptRole gives a role change to the timers.
func (n *Core) adoptRole() error {
	before, now := n.told, n.status
	n.told = now
	if now.State == before.State && !now.startsAnew(before) {
		return nil
	}
	switch n.status.State {
	case raft.StateLeader:
		return n.config.Timers.BecomeLeader()
	case raft.StateFollower:
		return n.config.Timers.BecomeFollower()
	default: // candidate and pre-candidate
		return n.config.Timers.BecomeCandidate()
	}
}

// noteContact restarts the election timeout after a contact with the leader.
func (n *Core) noteContact() {
	n.contact = n.config.Timers.Now()
	n.config.Timers.Contact()
}

// isFromLeader reports whether a message, which has been stepped, shows that the leader of the present term
// is alive.
func (n *Core) isFromLeader(m *raftpb.Message) bool {
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		return m.GetTerm() == n.status.Term && m.GetFrom() == n.status.Leader
	}
	return false
}

// forgetLeader ends the time in which a follower ignores requests for votes, before
// one of a higher term is stepped.
func (n *Core) forgetLeader(m *raftpb.Message) {
	if t := m.GetType(); t != raftpb.MsgVote && t != raftpb.MsgPreVote {
		return
	}
	if !n.config.Sticky || n.config.Ticks != nil || n.status.State != raft.StateFollower || m.GetTerm() <= n.status.Term {
		return
	}
	now := n.config.Timers.Now()
	n.contact = min(n.contact, now) // the clock may have been set back
	if now-n.contact >= n.timing.ElectionTimeoutMin {
		_ = n.raft.ForgetLeader() // has no error to return
	}
}
