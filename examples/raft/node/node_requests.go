// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/kv"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// Put sets a key. It waits for a leader, if there is none, and until this node has applied the
// write. It proposes the write once: if the leader fails, the error may be ErrOutcomeUnknown.
func (n *Node) Put(ctx context.Context, key, value string) error {
	id := rand.Uint64()
	p := &put{data: kv.Command{Request: id, Key: key, Value: value}.Encode(), applied: make(chan struct{})}
	if err := n.runInLoop(ctx, func() { n.puts[id] = p }); err != nil {
		return err
	}
	defer n.runInLoop(context.Background(), func() { delete(n.puts, id) })
	select {
	case <-p.applied:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
	case <-n.done:
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, n.closed())
	}
}

// Get returns the value of a key, and whether it has one. It is linearizable: it sees every Put that
// returned before Get was called.
func (n *Node) Get(ctx context.Context, key string) (value string, found bool, err error) {
	g := &get{key: key, answer: make(chan reply, 1)}
	id := rand.Uint64()
	if err := n.runInLoop(ctx, func() { n.gets[id] = g }); err != nil {
		return "", false, err
	}
	defer n.runInLoop(context.Background(), func() { delete(n.gets, id) })
	again := time.NewTicker(rafttimer.DefaultElectionTimeoutMax) // the request may be lost although the leader is not
	defer again.Stop()
	for {
		select {
		case r := <-g.answer:
			return r.value, r.found, nil
		case <-again.C:
			_ = n.runInLoop(ctx, func() { g.asked = g.index != 0 }) // the next turn returns an error
		case <-ctx.Done():
			return "", false, context.Cause(ctx)
		case <-n.done:
			return "", false, n.closed()
		}
	}
}

// runInLoop calls f in the node's goroutine.
func (n *Node) runInLoop(ctx context.Context, f func()) error {
	select {
	case n.requests <- f:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.done:
		return n.closed()
	}
}

// noteApplied handles the application of a command.
func (n *Node) noteApplied(request uint64) {
	if p := n.puts[request]; p != nil {
		close(p.applied)
		delete(n.puts, request)
	}
}

// noteIndex handles the index from which on a read can be answered.
func (n *Node) noteIndex(request []byte, index uint64) {
	if g := n.gets[binary.BigEndian.Uint64(request)]; g != nil {
		g.index = index
	}
}
