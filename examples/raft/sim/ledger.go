// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"
)

// snapshotEvery is small, so that snapshots are made and sent all the time.
const snapshotEvery = 10

// ledger is the state machine of a node: the sum of all entries that it has applied.
type ledger struct {
	oracle  *oracle
	process *process
	index   uint64
	sum     uint64
}

// Apply implements core.StateMachine.
func (l *ledger) Apply(e *raftpb.Entry) error {
	if e.GetIndex() != l.index+1 {
		l.oracle.world.fail(Mismatch, "node %d applies entry %d after entry %d", l.process.id, e.GetIndex(), l.index)
	}
	l.index, l.sum = e.GetIndex(), sum(l.sum, e)
	l.oracle.observeApply(l.process, e, l.sum)
	return nil
}

// Snapshot implements core.StateMachine.
func (l *ledger) Snapshot() ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, l.sum), nil
}

// Restore implements core.StateMachine.
func (l *ledger) Restore(s *raftpb.Snapshot) error {
	if len(s.GetData()) != 8 {
		return fmt.Errorf("sim: a snapshot of %d bytes", len(s.GetData()))
	}
	l.index, l.sum = s.GetMetadata().GetIndex(), binary.BigEndian.Uint64(s.GetData())
	l.oracle.compareSum(l.process, l.index, l.sum)
	if l.process.isUp() { // not while it starts
		l.oracle.restored++
	}
	return nil
}
