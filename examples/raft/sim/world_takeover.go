// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"errors"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/kazahana-db/kazahana/examples/raft/core"
)

// awaitAnyLeader waits for a node that leads the highest term that had a leader.
func (w *world) awaitAnyLeader(within time.Duration) {
	if w.latestLeader() == nil {
		w.runUntil(within, func() bool { return w.latestLeader() != nil })
	}
}

// latestLeader returns the node that leads the highest term that had a leader; nil if it no longer leads.
func (w *world) latestLeader() *process {
	p := w.process(w.oracle.leaders[w.oracle.highest])
	if !p.isUp() || p.core.Status() != (core.Status{ID: p.id, Term: w.oracle.highest, State: raft.StateLeader, Leader: p.id}) {
		return nil
	}
	return p
}

func (w *world) replaceLeader(t Takeover, within time.Duration) (Takeover, error) {
	leader := w.latestLeader()
	if leader == nil {
		return t, errors.Join(errNoTakeover, w.err())
	}
	crashed, term, before := w.Now(), w.oracle.highest, w.countElections()
	leader.crash()
	if !w.runUntil(within, func() bool { return w.oracle.highest > term }) {
		return t, errors.Join(errNoTakeover, w.err())
	}
	t.Took, t.Elections = w.oracle.led-crashed, w.countElections()-before
	return t, nil
}
