// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"github.com/kazahana-db/kazahana/rafttimer"
	"go.etcd.io/raft/v3/raftpb"
)

// recording is a state machine that has the data of all entries, in their order.
type recording struct{ data string }

func (r *recording) Apply(e *raftpb.Entry) error {
	r.data += string(e.GetData())
	return nil
}

func (r *recording) Snapshot() ([]byte, error) { return []byte(r.data), nil }

func (r *recording) Restore(s *raftpb.Snapshot) error {
	r.data = string(s.GetData())
	return nil
}

// appendEntries returns an append of the leader, node 2, of term 2, of one entry for each letter, from index 2 on.
func appendEntries(letters string) *raftpb.Message {
	m := vote(raftpb.MsgApp, 2, 2, 1)
	for i, letter := range letters {
		m.Entries = append(m.Entries, &raftpb.Entry{Index: new(uint64(i + 2)), Term: new(uint64(2)), Data: []byte(string(letter))})
	}
	m.Commit = new(uint64(len(letters) + 1))
	return m
}

// TestRestartAfterSnapshot checks that a node with a compacted log goes on with its snapshot,
// and applies no entry twice that is still in the log.
func TestRestartAfterSnapshot(t *testing.T) {
	f := newFixture(t, false)
	f.told = nil
	f.start(core.Config{SnapshotEvery: 4})
	f.step(appendEntries("abcdefg"))
	if first, _ := f.disk.FirstIndex(); first <= 2 {
		t.Fatalf("the log is not compacted: it begins at %d", first)
	}
	f.told = nil
	f.start(core.Config{SnapshotEvery: 4})
	f.step(message(raftpb.MsgHeartbeat, 2, 2))
	if f.log.data != "abcdefg" || f.core.Applied() != 8 {
		t.Errorf("after a restart the state is %q, at index %d", f.log.data, f.core.Applied())
	}
}

// TestSaveBeforeSend checks that a vote and an acknowledgement are sent once they are durable: with a disk
// that fails, never.
func TestSaveBeforeSend(t *testing.T) {
	for name, m := range map[string]*raftpb.Message{
		"vote": vote(raftpb.MsgVote, 2, 2, 1), "append": appendEntries("a"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, false)
			f.disk = failingDisk{f.disk}
			f.told = nil
			f.start(core.Config{})
			m.To = new(uint64(1))
			if err := f.core.Step(m); !errors.Is(err, errDisk) {
				t.Errorf("the error is %v, want the disk's", err)
			}
			if len(f.sent) > 0 || f.log.data != "" {
				t.Errorf("sent %v, applied %q", f.sent, f.log.data)
			}
		})
	}
}

var errDisk = errors.New("disk failure")

type failingDisk struct{ core.Disk }

func (failingDisk) Save(*raftpb.HardState, []*raftpb.Entry, *raftpb.Snapshot) error { return errDisk }

func TestBadConfig(t *testing.T) {
	_, err := core.New(core.Config{Timing: rafttimer.Config{ElectionTimeoutMin: -1}})
	for _, fault := range []string{"ID", "Disk", "Timers", "State", "Send", "ElectionTimeoutMin"} {
		if !strings.Contains(fmt.Sprint(err), fault) {
			t.Errorf("%v does not mention %s", err, fault)
		}
	}
}
