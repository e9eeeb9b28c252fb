// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"github.com/kazahana-db/kazahana/rafttimer"
	"go.etcd.io/raft/v3/raftpb"
)

// recorder records the calls of the timers.
type recorder struct {
	told []string
	now  time.Duration
}

func (r *recorder) record(what string) error {
	r.told = append(r.told, what)
	return nil
}

func (r *recorder) BecomeFollower() error  { return r.record("follower") }
func (r *recorder) BecomeCandidate() error { return r.record("candidate") }
func (r *recorder) BecomeLeader() error    { return r.record("leader") }
func (r *recorder) Contact()               { _ = r.record("contact") }
func (r *recorder) Now() time.Duration     { return r.now }

// fixture has node 1 of three, and records its actions.
type fixture struct {
	*testing.T
	*recorder
	core *core.Core
	disk core.Disk
	log  *recording
	sent []*raftpb.Message
}

func newFixture(t *testing.T, sticky bool) *fixture {
	disk, err := core.NewMemoryDisk([]uint64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, recorder: &recorder{now: time.Hour}, disk: disk}
	f.start(core.Config{Sticky: sticky})
	return f
}

// start starts the node from its disk.
func (f *fixture) start(c core.Config) {
	f.Helper()
	f.log = &recording{}
	c.ID, c.Disk, c.Timers, c.State = 1, f.disk, f.recorder, f.log
	c.Send = func(m *raftpb.Message) error {
		f.sent = append(f.sent, m)
		return nil
	}
	var err error
	if f.core, err = core.New(c); err != nil {
		f.Fatal(err)
	}
	f.wantCalls("follower")
}

// wantCalls checks the calls of the timers since the last check.
func (f *fixture) wantCalls(told ...string) {
	f.Helper()
	if !slices.Equal(f.told, told) {
		f.Errorf("the timers are told %q, want %q", f.told, told)
	}
	f.told = nil
}

func (f *fixture) step(m *raftpb.Message) {
	f.Helper()
	m.To = new(uint64(1))
	if err := f.core.Step(m); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) fire(k rafttimer.Kind) {
	f.Helper()
	if err := f.core.Fire(rafttimer.Event{Kind: k}); err != nil {
		f.Fatal(err)
	}
}

func message(kind raftpb.MessageType, from, term uint64) *raftpb.Message {
	return &raftpb.Message{Type: kind.Enum(), From: new(from), Term: new(term)}
}

// vote is a request of a node with a log that ends at an index of term 1.
func vote(kind raftpb.MessageType, from, term, index uint64) *raftpb.Message {
	m := message(kind, from, term)
	m.Index, m.LogTerm = new(index), new(uint64(1))
	return m
}

func TestContact(t *testing.T) {
	f := newFixture(t, false)
	f.step(message(raftpb.MsgHeartbeat, 2, 2))
	f.wantCalls("follower", "contact") // of a new leader
	f.step(message(raftpb.MsgHeartbeat, 2, 2))
	f.wantCalls("contact")
	f.step(vote(raftpb.MsgApp, 2, 2, 1))
	f.wantCalls("contact")
	f.step(vote(raftpb.MsgApp, 2, 2, 100)) // which it refuses, because it lacks what lies before
	f.wantCalls("contact")
	f.step(message(raftpb.MsgHeartbeat, 3, 1)) // of a former leader
	f.wantCalls()
	f.step(vote(raftpb.MsgVote, 3, 3, 0)) // of a node that lacks entries: a higher term alone
	f.wantCalls()
	f.step(vote(raftpb.MsgVote, 3, 4, 1)) // which it grants
	f.wantCalls("contact")
	f.step(vote(raftpb.MsgVote, 2, 4, 1)) // which it refuses: it has voted
	f.wantCalls()
	f.step(vote(raftpb.MsgPreVote, 2, 5, 1)) // not a vote
	f.wantCalls()
	f.step(message(raftpb.MsgHeartbeat, 3, 4))
	f.wantCalls("follower", "contact")
}

func TestRoles(t *testing.T) {
	f := newFixture(t, false)
	f.fire(rafttimer.ElectionTimeout)
	f.wantCalls("candidate")
	f.fire(rafttimer.ElectionTimeout) // the election failed
	f.wantCalls("candidate")
	f.step(message(raftpb.MsgVoteResp, 2, 3))
	f.wantCalls("leader")
	f.fire(rafttimer.ElectionTimeout) // which cannot be current
	f.wantCalls()
	f.sent = nil
	f.fire(rafttimer.Heartbeat)
	if n := len(f.sent); n != 2 || f.sent[0].GetType() != raftpb.MsgHeartbeat {
		t.Errorf("a beat sends %v", f.sent)
	}
	f.fire(rafttimer.Stall)
	f.step(message(raftpb.MsgHeartbeat, 2, 4)) // another leads
	f.wantCalls("follower", "contact")
	f.sent = nil
	f.fire(rafttimer.Heartbeat) // which cannot be current
	if len(f.sent) > 0 {
		t.Errorf("a follower beats: %v", f.sent)
	}
}

// TestPreCandidate checks that an election begins with a round that does not raise the term.
func TestPreCandidate(t *testing.T) {
	f := newFixture(t, true)
	f.fire(rafttimer.ElectionTimeout)
	f.wantCalls("candidate")
	if term := f.core.Status().Term; term != 1 {
		t.Errorf("a pre-candidate is in term %d", term)
	}
	f.step(message(raftpb.MsgPreVoteResp, 2, 2))
	f.wantCalls("candidate") // again, with a new timeout
	f.step(message(raftpb.MsgVoteResp, 2, 2))
	f.wantCalls("leader")
}

// TestCheckQuorum checks that a leader that gets no answers steps down within as many beats as
// two election timeouts have.
func TestCheckQuorum(t *testing.T) {
	f := newFixture(t, true)
	f.fire(rafttimer.ElectionTimeout)
	f.step(message(raftpb.MsgPreVoteResp, 2, 2))
	f.step(message(raftpb.MsgVoteResp, 2, 2))
	f.told = nil
	for range 6 {
		f.fire(rafttimer.Heartbeat)
	}
	f.wantCalls("follower")
}

// TestSticky checks that a follower ignores requests for votes only while it hears from its
// leader.
func TestSticky(t *testing.T) {
	for name, c := range map[string]struct {
		passed  time.Duration
		granted bool
	}{
		"at once":                  {0, false},
		"just before":              {rafttimer.DefaultElectionTimeoutMin - 1, false},
		"after the shortest time":  {rafttimer.DefaultElectionTimeoutMin, true},
		"clock set back, at once":  {-time.Minute, false},
		"clock set back, long ago": {-time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, true)
			f.step(message(raftpb.MsgHeartbeat, 2, 2))
			f.now += c.passed
			if c.passed < 0 && c.granted {
				f.step(vote(raftpb.MsgVote, 3, 3, 1)) // which notices that the clock was set back
				f.now += rafttimer.DefaultElectionTimeoutMin
			}
			f.told = nil
			f.step(vote(raftpb.MsgVote, 3, 3, 1))
			if granted := slices.Contains(f.told, "contact"); granted != c.granted {
				t.Errorf("granted: %v", granted)
			}
		})
	}
}
