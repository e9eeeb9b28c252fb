// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// errCrash ends a node in the middle of an action.
var errCrash = errors.New("sim: crash")

// disk is the disk of a node. It survives crashes; some happen in its methods.
type disk struct {
	*core.MemoryDisk
	mutation Mutation
	step     func() error // before and after each change; may crash the node
}

func newDisk(members []uint64, m Mutation, step func() error) (*disk, error) {
	memory, err := core.NewMemoryDisk(members)
	return &disk{memory, m, step}, err
}

// Save implements core.Disk.
func (d *disk) Save(h *raftpb.HardState, entries []*raftpb.Entry, s *raftpb.Snapshot) error {
	if d.mutation == ForgetVotes && h != nil {
		h = proto.Clone(h).(*raftpb.HardState)
		h.Vote = nil
	}
	return d.change(func() error { return d.MemoryDisk.Save(h, entries, s) })
}

// Compact implements core.Disk.
func (d *disk) Compact(index uint64, state []byte, drop uint64) error {
	return d.change(func() error { return d.MemoryDisk.Compact(index, state, drop) })
}

func (d *disk) change(f func() error) error {
	if err := d.step(); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return d.step()
}

// crash makes the disk lose the data of its Mutation.
func (d *disk) crash() error {
	first, _ := d.FirstIndex()
	last, _ := d.LastIndex()
	if d.mutation != LoseTail || last < first {
		return nil
	}
	return d.loseLast(first, last)
}

func (d *disk) loseLast(first, last uint64) error {
	kept := raft.NewMemoryStorage()
	h, _, _ := d.InitialState()
	h = proto.Clone(h).(*raftpb.HardState)
	h.Commit = proto.Uint64(max(min(h.GetCommit(), last-1), first-1))
	s, err := d.Snapshot()
	if err != nil || s.GetMetadata().GetIndex() >= last {
		return err
	}
	tail, err := d.entriesBetween(s.GetMetadata().GetIndex()+1, last)
	if err != nil {
		return err
	}
	d.MemoryDisk = &core.MemoryDisk{MemoryStorage: kept}
	return d.MemoryDisk.Save(h, tail, s)
}

// entriesBetween returns the entries from one index up to, without, another.
func (d *disk) entriesBetween(from, to uint64) ([]*raftpb.Entry, error) {
	if from >= to {
		return nil, nil
	}
	return d.Entries(from, to, 1<<62)
}
