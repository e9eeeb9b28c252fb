// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"

	"go.etcd.io/raft/v3/raftpb"
)

// compareLogs checks the log matching property: if two logs have an entry of the same index and term, they
// are the same up to it.
func (w *world) compareLogs() {
	for i, p := range w.nodes {
		for _, q := range w.nodes[:i] {
			w.compareTwo(p, q)
		}
	}
}

func (w *world) compareTwo(p, q *process) {
	a, b := p.log(), q.log()
	matched := false
	for index := min(p.last(), q.last()); a[index] != nil && b[index] != nil; index-- {
		x, y := a[index], b[index]
		same := x.GetTerm() == y.GetTerm()
		if matched && !same || same && !bytes.Equal(x.GetData(), y.GetData()) {
			w.fail(Mismatch, "nodes %d and %d at index %d: terms %d and %d", p.id, q.id, index, x.GetTerm(), y.GetTerm())
		}
		matched = matched || same
	}
}

func (p *process) last() uint64 {
	last, _ := p.disk.LastIndex()
	return last
}

// log returns the entries on disk by their indexes.
func (p *process) log() map[uint64]*raftpb.Entry {
	first, _ := p.disk.FirstIndex()
	entries, err := p.disk.tail(first, p.last()+1)
	if err != nil {
		p.world.fail(Broken, "log of node %d: %v", p.id, err)
	}
	log := map[uint64]*raftpb.Entry{}
	for _, e := range entries {
		log[e.GetIndex()] = e
	}
	return log
}
