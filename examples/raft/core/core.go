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

// Status is what a node knows of its group.
type Status struct {
	ID     uint64
	Term   uint64
	State  raft.StateType
	Leader uint64 // 0: none is known
}

// New returns a node in the state of its disk: a follower, whose election timeout runs.
func New(c Config) (*Core, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	timing, err := c.Timing.Timing()
	if err != nil {
		return nil, err
	}
	n := &Core{config: c, timing: timing.Config()}
	if err := n.load(); err != nil {
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

// load restores the state machine from the disk's snapshot.
func (n *Core) load() error {
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

// Status returns what the node knows.
func (n *Core) Status() Status { return n.status }

// Applied returns the index of the entry that was applied last.
func (n *Core) Applied() uint64 { return n.applied }

// Step takes a message of another node. One that is not for it to take is ignored.
func (n *Core) Step(m *raftpb.Message) error {
	n.forgetLeader(m)
	err := n.raft.Step(m)
	if ignorable(err) {
		err = nil
	}
	if err := errors.Join(err, n.process()); err != nil {
		return err
	}
	if n.isFromLeader(m) {
		n.hear()
	}
	return nil
}

// ignorable reports whether an error only says that a message was of no use.
func ignorable(err error) bool {
	return errors.Is(err, raft.ErrStepLocalMsg) || errors.Is(err, raft.ErrStepPeerNotFound) || errors.Is(err, raft.ErrProposalDropped)
}

// Fire takes an event of the timers, which must be current.
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
	return n.process()
}

// Tick is for a Config with Ticks.
func (n *Core) Tick() error {
	n.raft.Tick()
	return n.process()
}

// Propose asks the leader, this node or another, to append data to the log. It is
// [raft.ErrProposalDropped] if no leader is known. Without an error it is not certain that the
// entry will be committed.
func (n *Core) Propose(data []byte) error {
	err := n.raft.Propose(data)
	if errors.Is(err, raft.ErrProposalDropped) {
		return err
	}
	return errors.Join(err, n.process())
}

// ReadIndex asks the leader from which index on a read is linearizable. Config.Read is
// told, with the same request, or never.
func (n *Core) ReadIndex(request []byte) error {
	n.raft.ReadIndex(request)
	return n.process()
}

// ReportUnreachable says that messages to a node were lost.
func (n *Core) ReportUnreachable(id uint64) error {
	n.raft.ReportUnreachable(id)
	return n.process()
}

// startsAnew reports whether a node of the same role as before begins it anew: a candidate in another
// term; a follower of a new leader, which draws a new timeout. Its followers have longer timeouts than the
// node that was elected: if they kept them, the next election would be late. A follower that learns of a
// higher term alone goes on waiting.
func (s Status) startsAnew(before Status) bool {
	if s.State == raft.StateFollower {
		return s.Leader != 0 && (s.Leader != before.Leader || s.Term != before.Term)
	}
	return s.Term != before.Term
}
