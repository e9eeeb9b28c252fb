// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// node is a machine of a cluster, on which one incarnation after the other runs.
type node struct {
	cluster *cluster
	name    string
	gate    *gate

	mu      sync.Mutex
	running *incarnation // nil: none is a member
	cancel  context.CancelCauseFunc
	ended   chan struct{}
}

var (
	errKilled  = errors.New("killed")
	errStopped = errors.New("stopped")
)

func (n *node) process() *incarnation {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.running
}

func (n *node) set(p *incarnation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running = p
}

// start runs incarnations until the node is killed or stopped.
func (n *node) start() {
	ctx, cancel := context.WithCancelCause(context.Background())
	n.cancel, n.ended = cancel, make(chan struct{})
	n.gate.set(open)
	go func() {
		defer close(n.ended)
		for ctx.Err() == nil {
			if err := n.run(ctx); err != nil && ctx.Err() == nil {
				time.Sleep(time.Second)
			}
		}
	}()
}

// stop leaves cleanly.
func (n *node) stop() {
	n.cancel(errStopped)
	<-n.ended
}

// kill ends the node: nothing that it does after that reaches the database.
func (n *node) kill() {
	n.gate.set(isolated)
	n.cancel(errKilled)
	<-n.ended
}

// run is one incarnation.
func (n *node) run(ctx context.Context) error {
	members, err := membership.New(n.gate, membership.Options{})
	if err != nil {
		return err
	}
	me, err := members.Join(ctx, membership.Self{Name: n.name, Address: n.name, Kinds: []string{"account"}})
	if err != nil {
		return err
	}
	p, err := newIncarnation(n, members, me)
	if err != nil {
		return err
	}
	n.cluster.count(&n.cluster.joined)
	running, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = p.driver.Run(running) })
	tasks.Go(func() {
		_ = members.Follow(running, func(t placement.Topology) { _ = p.driver.UpdateTopology(t) })
	})
	n.set(p)
	select {
	case <-ctx.Done():
	case <-me.Context().Done():
	}
	p.leave(context.Cause(ctx), me)
	n.set(nil)
	cancel()
	tasks.Wait()
	return nil
}

// state is how a gate lets transactions through.
type state int

const (
	open state = iota
	isolated
	suspended
)

// gate is the database as one node reaches it.
type gate struct {
	kv.Database
	mu    sync.Mutex
	state state
	moved chan struct{} // closed when the state changes
}

func newGate(db kv.Database) *gate { return &gate{Database: db, moved: make(chan struct{})} }

func (g *gate) set(s state) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = s
	close(g.moved)
	g.moved = make(chan struct{})
}

func (g *gate) is(s state) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == s
}

// pass lets a transaction through, later, or not.
func (g *gate) pass() error {
	for {
		g.mu.Lock()
		s, moved := g.state, g.moved
		g.mu.Unlock()
		switch s {
		case open:
			return nil
		case isolated:
			return kv.NewError(kv.CodeProcessBehind, "cut off")
		}
		<-moved
	}
}

// Begin implements [kv.Database].
func (g *gate) Begin() (kv.Transaction, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	tx, err := g.Database.Begin()
	return gatedTx{tx, g}, err
}

// Transact implements [kv.Database].
func (g *gate) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := g.Begin()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.Database].
func (g *gate) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Database.ReadTransact(ctx, fn)
}

// gatedTx stops where a process is that was suspended before its commit.
type gatedTx struct {
	kv.Transaction
	gate *gate
}

// Transact has what takes part in the transaction see it as it is.
func (t gatedTx) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// Commit implements [kv.Transaction].
func (t gatedTx) Commit(ctx context.Context) error {
	if err := t.gate.pass(); err != nil {
		return err
	}
	return t.Transaction.Commit(ctx)
}
