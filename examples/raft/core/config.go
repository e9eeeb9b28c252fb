// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Timers get the node's role and the contacts with its leader. A [rafttimer.Driver] has
// these methods.
type Timers interface {
	BecomeFollower() error
	BecomeCandidate() error
	BecomeLeader() error
	Contact()
	Now() time.Duration
}

// StateMachine applies the entries of the log.
type StateMachine interface {
	// Apply applies a committed entry. Its data is empty where a leader's
	// term begins. An error ends the node.
	Apply(e *raftpb.Entry) error
	// Snapshot returns the whole state, up to the entry applied last.
	Snapshot() ([]byte, error)
	// Restore replaces the state by that of a snapshot.
	Restore(s *raftpb.Snapshot) error
}

// Config configures a Core. All fields without a default are required.
type Config struct {
	ID     uint64
	Disk   Disk
	Timers Timers
	State  StateMachine

	// Send sends a message to the node m.GetTo(), or loses it. It must not
	// block, and must not change m. An error ends the node.
	Send func(m *raftpb.Message) error
	// Read is called with the index from which on a read of [Core.ReadIndex] may be
	// answered. The default value ignores it.
	Read func(request []byte, index uint64)

	// Timing configures the timers.
	Timing rafttimer.Config
	// Sticky turns on CheckQuorum and PreVote.
	Sticky bool

	// SnapshotEvery is the number of applied entries after which the log is
	// compacted. Half as many stay in it, for followers that are a little behind. The
	// default value, 0, never compacts it.
	SnapshotEvery uint64

	// Ticks, if set, makes etcd/raft's own timers run elections and heartbeats, in
	// [Core.Tick], for comparison.
	Ticks *Ticks

	// LeaseReads answers reads by the leader's lease, without asking the others. That is
	// wrong if clocks jump or processes pause, which the simulation shows.
	LeaseReads bool
}

// Ticks are the numbers of ticks of etcd/raft's own timers.
type Ticks struct{ Election, Heartbeat int }

func (c Config) validate() error {
	var faults []error
	missing := map[string]bool{
		"ID": c.ID == 0, "Disk": c.Disk == nil, "Timers": c.Timers == nil, "State": c.State == nil, "Send": c.Send == nil,
	}
	for _, field := range []string{"ID", "Disk", "Timers", "State", "Send"} {
		if missing[field] {
			faults = append(faults, fmt.Errorf("core: Config.%s is required", field))
		}
	}
	return errors.Join(append(faults, c.Timing.Validate())...)
}

// raftConfig returns etcd/raft's configuration of a node with a state machine that has
// applied the entries up to an index.
func (c Config) raftConfig(t rafttimer.Config, applied uint64) *raft.Config {
	ticks := Ticks{Election: beatsWithin(t.ElectionTimeoutMin, t.HeartbeatInterval), Heartbeat: 1}
	if c.Ticks != nil {
		ticks = *c.Ticks
	}
	reads := raft.ReadOnlySafe
	if c.LeaseReads {
		reads = raft.ReadOnlyLeaseBased
	}
	return &raft.Config{
		ID:              c.ID,
		ElectionTick:    ticks.Election,
		HeartbeatTick:   ticks.Heartbeat,
		Storage:         c.Disk,
		Applied:         applied,
		MaxSizePerMsg:   1 << 20,
		MaxInflightMsgs: 256,
		CheckQuorum:     c.Sticky,
		PreVote:         c.Sticky,
		ReadOnlyOption:  reads,
		Logger:          quiet{},
	}
}

// beatsWithin returns how many heartbeats fit into a time, at least the 2 that etcd/raft asks for.
func beatsWithin(d, interval time.Duration) int { return max(2, int(d/interval)) }

// Bootstrap returns the state of a new node of a group: the snapshot, and the hard state, that
// all of its members begin with.
func Bootstrap(members []uint64) (*raftpb.HardState, *raftpb.Snapshot) {
	one := uint64(1)
	return &raftpb.HardState{Term: &one, Commit: &one}, &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
		ConfState: &raftpb.ConfState{Voters: slices.Clone(members)}, Index: &one, Term: &one,
	}}
}
