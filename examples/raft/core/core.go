// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// Core is one node. It is not safe for concurrent use. After an error it must not be
// used again: the node has crashed.
type Core struct {
	config  Config
	timing  rafttimer.Config // with its defaults
	raft    *raft.RawNode
	status  Status
	told    Status        // that the timers know
	contact time.Duration // when the node last heard from its leader

	applied  uint64 // index
	snapshot uint64 // index of the latest one
}

// Status is a node's view of its group.
type Status struct {
	ID     uint64
	Term   uint64
	State  raft.StateType
	Leader uint64 // 0: none is known
}

// New returns a node in the state of its disk: a follower with a running election timeout.
func New(c Config) (*Core, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	timing, err := c.Timing.WithDefaults()
	if err != nil {
		return nil, err
	}
	n := &Core{config: c, timing: timing}
	if err := n.restoreState(); err != nil {
		return nil, err
	}
	if n.raft, err = raft.NewRawNode(c.raftConfig(n.timing, n.applied)); err != nil {
		return nil, err
	}
	s := n.raft.BasicStatus()
	n.status = Status{ID: c.ID, Term: s.GetTerm(), State: s.RaftState, Leader: s.Lead}
	n.told = n.status
	return n, c.Timers.BecomeFollower()
}

// restoreState restores the state machine from the disk's snapshot.
func (n *Core) restoreState() error {
	s, err := n.config.Disk.Snapshot()
	if err != nil {
		return err
	}
	n.applied, n.snapshot = s.GetMetadata().GetIndex(), s.GetMetadata().GetIndex()
	if len(s.GetData()) == 0 {
		return nil // as Bootstrap makes it
	}
	return n.config.State.Restore(s)
}

// Status returns the node's view.
func (n *Core) Status() Status { return n.status }

// Applied returns the index of the entry that was applied last.
func (n *Core) Applied() uint64 { return n.applied }

// Step handles a message of another node. It ignores messages that are of no use.
func (n *Core) Step(m *raftpb.Message) error {
	n.forgetLeader(m)
	err := n.raft.Step(m)
	if ignorable(err) {
		err = nil
	}
	if err := errors.Join(err, n.processReady()); err != nil {
		return err
	}
	if n.isFromLeader(m) {
		n.noteContact()
	}
	return nil
}

// ignorable reports whether an error only says that a message was of no use.
func ignorable(err error) bool {
	return errors.Is(err, raft.ErrStepLocalMsg) || errors.Is(err, raft.ErrStepPeerNotFound) || errors.Is(err, raft.ErrProposalDropped)
}

// Fire handles an event of the timers, which must be current.
func (n *Core) Fire(e rafttimer.Event) error {
	switch {
	case e.Kind == rafttimer.ElectionTimeout && n.status.State != raft.StateLeader:
		if err := n.raft.Campaign(); err != nil {
			return err
		}
	case e.Kind == rafttimer.Heartbeat && n.status.State == raft.StateLeader:
		n.raft.Tick()
	}
	// A stall needs no answer: reads ask a majority whether the leader still leads.
	return n.processReady()
}

// Tick is for a Config with Ticks.
func (n *Core) Tick() error {
	n.raft.Tick()
	return n.processReady()
}

// Propose asks the leader, this node or another, to append data to the log. The error is
// [raft.ErrProposalDropped] if no leader is known. The entry may not be committed even if the
// error is nil.
func (n *Core) Propose(data []byte) error {
	err := n.raft.Propose(data)
	if errors.Is(err, raft.ErrProposalDropped) {
		return err
	}
	return errors.Join(err, n.processReady())
}

// ReadIndex asks the leader for the index from which on a read is linearizable. Config.Read is
// called with it and the same request, or never.
func (n *Core) ReadIndex(request []byte) error {
	n.raft.ReadIndex(request)
	return n.processReady()
}

// ReportUnreachable says that messages to a node were lost.
func (n *Core) ReportUnreachable(id uint64) error {
	n.raft.ReportUnreachable(id)
	return n.processReady()
}

// startsAnew reports whether a node with the same role as before starts that role again: a candidate in
// another term; a follower of a new leader, which draws a new timeout. The followers' timeouts are longer
// than that of the elected node: if they kept them, the next election would be late. A follower that only
// learns of a higher term goes on waiting.
func (s Status) startsAnew(before Status) bool {
	if s.State == raft.StateFollower {
		return s.Leader != 0 && (s.Leader != before.Leader || s.Term != before.Term)
	}
	return s.Term != before.Term
}
