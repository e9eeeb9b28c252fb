// SPDX-License-Identifier: Apache-2.0

package core

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// processReady handles etcd/raft's Readys until there are no more.
func (n *Core) processReady() error {
	for n.raft.HasReady() {
		ready := n.raft.Ready()
		if err := n.handleReady(ready); err != nil {
			return err
		}
		n.raft.Advance(ready)
		if err := n.compact(); err != nil {
			return err
		}
	}
	return n.adoptRole()
}

// handleReady makes a Ready durable, then sends its messages, then applies its entries.
func (n *Core) handleReady(r raft.Ready) error {
	n.observeReady(r)
	if err := n.save(r); err != nil {
		return err
	}
	for _, m := range r.Messages {
		if err := n.send(m); err != nil {
			return err
		}
	}
	if err := n.apply(r); err != nil {
		return err
	}
	for _, read := range r.ReadStates {
		if n.config.Read != nil {
			n.config.Read(read.RequestCtx, read.Index)
		}
	}
	return nil
}

func (n *Core) save(r raft.Ready) error {
	if raft.IsEmptyHardState(r.HardState) && len(r.Entries) == 0 && raft.IsEmptySnap(r.Snapshot) {
		return nil
	}
	return n.config.Disk.Save(r.HardState, r.Entries, r.Snapshot)
}

func (n *Core) send(m *raftpb.Message) error {
	if err := n.config.Send(m); err != nil {
		return err
	}
	switch {
	case m.GetType() == raftpb.MsgVoteResp && !m.GetReject():
		n.noteContact()
	case m.GetType() == raftpb.MsgSnap:
		// The network may lose it. The next probe of the follower, after a heartbeat's reply,
		// notices.
		n.raft.ReportSnapshot(m.GetTo(), raft.SnapshotFinish)
	}
	return nil
}

func (n *Core) apply(r raft.Ready) error {
	if s := r.Snapshot; !raft.IsEmptySnap(s) {
		if err := n.config.State.Restore(s); err != nil {
			return err
		}
		n.applied, n.snapshot = s.GetMetadata().GetIndex(), s.GetMetadata().GetIndex()
	}
	for _, e := range r.CommittedEntries {
		if err := n.config.State.Apply(e); err != nil {
			return err
		}
		n.applied = e.GetIndex()
	}
	return nil
}

func (n *Core) compact() error {
	if n.config.SnapshotEvery == 0 || n.applied-n.snapshot < n.config.SnapshotEvery {
		return nil
	}
	state, err := n.config.State.Snapshot()
	if err != nil {
		return err
	}
	n.snapshot = n.applied
	return n.config.Disk.Compact(n.applied, state, n.applied-min(n.applied, n.config.SnapshotEvery/2))
}
