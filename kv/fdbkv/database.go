// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// Database is a client of a cluster: a [kv.Database]. It is safe for concurrent
// use.
type Database struct {
	fdb      fdb.Database
	defaults kv.TransactionDefaults
	closed   atomic.Bool
	watches  futures
	groups   groups

	handle sync.RWMutex // held for writing while fdb is closed

	mu   sync.Mutex
	open map[*futures]struct{} // of the attempts that are not garbage, nor known to be over
}

var _ kv.Database = (*Database)(nil)

// Begin implements [kv.Database].
func (db *Database) Begin() (kv.Transaction, error) {
	t, err := db.begin()
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (db *Database) begin() (*transaction, error) {
	tr, err := db.createTransaction()
	if err != nil {
		return nil, err
	}
	return newTransaction(db, tr), nil
}

// createTransaction returns a new transaction of the client.
func (db *Database) createTransaction() (fdb.Transaction, error) {
	db.handle.RLock()
	defer db.handle.RUnlock()
	if db.closed.Load() {
		return fdb.Transaction{}, kv.ErrClosed
	}
	tr, err := db.fdb.CreateTransaction()
	return tr, fromBinding(err)
}

// Transact implements [kv.Transactor]. Errors of the official binding that fn
// returns are retried like those of this package.
func (db *Database) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	t, err := db.begin()
	if err != nil {
		return err
	}
	defer db.untrackTransaction(t)
	return kv.Retry(ctx, t, func(kv.Attempt) error { return fromBinding(fn(t)) })
}

// ReadTransact implements [kv.ReadTransactor]. Functions of many calls at once read
// in transactions of the client that they share: see membership.
func (db *Database) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	defer db.groups.removeReader()
	t, err := db.beginReadTransaction(db.groups.addReader())
	if err != nil {
		return err
	}
	defer db.untrackTransaction(t)
	return kv.RetryRead(ctx, readOnlyTransaction{t}, func() error { return fromBinding(fn(t)) })
}

// trackAttempt has the attempt's reads given up by Close and its results freed when it
// is garbage.
func (db *Database) trackAttempt(a *attempt) {
	runtime.AddCleanup(a, func(s *futures) {
		db.untrack(s)
		s.destroy()
	}, a.futures)
	if db == nil {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed.Load() {
		a.futures.giveUp(kv.ErrClosed)
		return
	}
	db.open[a.futures] = struct{}{}
}

// untrack takes an attempt off the list of those that Close gives up.
func (db *Database) untrack(s *futures) {
	if db == nil {
		return
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.open, s)
}

// untrackTransaction takes a transaction's attempts off that list. A retry loop
// calls it at its end, when no caller waits for the transaction's reads.
func (db *Database) untrackTransaction(t *transaction) {
	for _, a := range []*attempt{t.shared.Load(), t.current.Load()} {
		if a != nil {
			db.untrack(a.futures)
		}
	}
}

// Close implements [kv.Database]. Reads, watches and waits of OnError that are
// under way fail with [kv.ErrClosed]; the client finishes commits that have
// begun, and their futures tell the outcome. Close does not wait for them.
// The client's network thread goes on until the process ends.
func (db *Database) Close() error {
	if db.closed.Swap(true) {
		return nil
	}
	db.mu.Lock()
	for s := range db.open {
		s.giveUp(kv.ErrClosed)
	}
	clear(db.open)
	db.mu.Unlock()
	db.watches.giveUp(kv.ErrClosed)
	db.handle.Lock()
	defer db.handle.Unlock()
	closeHandle(db.fdb)
	return nil
}

// beginReadTransaction returns a transaction for a function of ReadTransact. A default
// timeout counts from the beginning of a transaction of the client: then none is
// shared.
func (db *Database) beginReadTransaction(share bool) (*transaction, error) {
	if !share || db.defaults.Timeout != 0 {
		return db.begin()
	}
	if db.closed.Load() {
		return nil, kv.ErrClosed
	}
	return newUnstartedTransaction(db), nil
}

// Unwrap returns the binding's database. It is valid until Close, and must not
// be closed.
func (db *Database) Unwrap() fdb.Database { return db.fdb }
