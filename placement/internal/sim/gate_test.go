// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

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
