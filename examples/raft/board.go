// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"
	"sync"

	"github.com/kazahana-db/kazahana/examples/raft/core"
	"go.etcd.io/raft/v3"
)

// board has the latest status of each node that runs.
type board struct {
	mu       sync.Mutex
	statuses map[uint64]core.Status
	changed  chan struct{} // closed by the next change
}

func newBoard() *board {
	return &board{statuses: map[uint64]core.Status{}, changed: make(chan struct{})}
}

// setStatus records a status. It is a node's OnStatus.
func (b *board) setStatus(s core.Status) { b.update(func() { b.statuses[s.ID] = s }) }

// remove forgets a node.
func (b *board) remove(id uint64) { b.update(func() { delete(b.statuses, id) }) }

func (b *board) update(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *board) read() (map[uint64]core.Status, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.statuses), b.changed
}

// awaitLeader waits until so many nodes run and all of them follow one leader, and returns its status.
func (b *board) awaitLeader(ctx context.Context, nodes int) (core.Status, error) {
	for {
		statuses, changed := b.read()
		if leader, ok := common(statuses); ok && len(statuses) == nodes {
			return leader, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return core.Status{}, context.Cause(ctx)
		}
	}
}

// common returns the leader that all follow in one term.
func common(statuses map[uint64]core.Status) (core.Status, bool) {
	for _, leader := range statuses {
		if leader.State != raft.StateLeader {
			continue
		}
		for _, s := range statuses {
			if s.Leader != leader.ID || s.Term != leader.Term {
				return core.Status{}, false
			}
		}
		return leader, true
	}
	return core.Status{}, false
}
