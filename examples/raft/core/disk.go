// SPDX-License-Identifier: Apache-2.0

package core

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Disk is the storage of a node that survives a crash.
type Disk interface {
	raft.Storage

	// Save makes a snapshot, entries and a hard state durable, as far as they are not empty, before
	// it returns. The entries replace those from their first index on.
	Save(h *raftpb.HardState, entries []*raftpb.Entry, s *raftpb.Snapshot) error
	// Compact makes a snapshot of the state up to an index durable, and drops the entries up to
	// drop, which is not greater.
	Compact(index uint64, state []byte, drop uint64) error
}

// MemoryDisk is a Disk that survives its node, but not its process.
type MemoryDisk struct{ *raft.MemoryStorage }

// NewMemoryDisk returns the disk of a new node of a group.
func NewMemoryDisk(members []uint64) (*MemoryDisk, error) {
	d := &MemoryDisk{raft.NewMemoryStorage()}
	h, s := Bootstrap(members)
	return d, d.Save(h, nil, s)
}

// Save implements [Disk].
func (d *MemoryDisk) Save(h *raftpb.HardState, entries []*raftpb.Entry, s *raftpb.Snapshot) error {
	if !raft.IsEmptySnap(s) {
		if err := d.ApplySnapshot(s); err != nil {
			return err
		}
	}
	if err := d.Append(entries); err != nil {
		return err
	}
	if raft.IsEmptyHardState(h) {
		return nil
	}
	return d.SetHardState(h)
}

// Compact implements [Disk].
func (d *MemoryDisk) Compact(index uint64, state []byte, drop uint64) error {
	if _, err := d.CreateSnapshot(index, nil, state); err != nil {
		return err
	}
	if first, _ := d.FirstIndex(); drop < first {
		return nil
	}
	return d.MemoryStorage.Compact(drop)
}
