// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
)

// Lossy is a database that at a chosen moment does not know whether a transaction has
// committed (1021), as a cluster whose acknowledgement is lost.
type Lossy struct {
	kv.Database

	mu   sync.Mutex
	next *loss // nil: nothing is lost
}

// loss is one commit whose outcome is unknown.
type loss struct {
	dropped bool
	between func() error
}

// Lose makes the outcome of the next commit unknown: the transaction has committed, or
// is dropped. Before it is told, between, if there is one, does what another process does
// meanwhile; its error, if any, ends the transaction.
func (l *Lossy) Lose(dropped bool, between func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = &loss{dropped, between}
}

func (l *Lossy) take() *loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.next
	l.next = nil
	return next
}

// Begin implements [kv.Database].
func (l *Lossy) Begin() (kv.Transaction, error) {
	tx, err := l.Database.Begin()
	return &lossyTx{tx, l}, err
}

// Transact implements [kv.Transactor].
func (l *Lossy) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := l.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

type lossyTx struct {
	kv.Transaction
	db *Lossy
}

// Commit implements [kv.Transaction].
func (t *lossyTx) Commit(ctx context.Context) error {
	lost := t.db.take()
	if lost == nil {
		return t.Transaction.Commit(ctx)
	}
	if !lost.dropped {
		if err := t.Transaction.Commit(ctx); err != nil {
			return err
		}
	}
	if lost.between != nil {
		if err := lost.between(); err != nil {
			return err
		}
	}
	return kv.NewError(kv.CodeCommitUnknownResult, "the outcome was lost")
}
