// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// Database is a client of a cluster: a [kv.Database]. It is safe for concurrent
// use.
type Database struct {
	defaults kv.TransactionOptions
	load     clientOptions // those of defaults that each transaction is given
	closed   atomic.Bool
	watches  futures
	groups   groups
	versions versionCache

	queued atomic.Int64 // bytes that the client's thread may not have taken: see awaitClient

	handle sync.RWMutex // held for reading while client is used, for writing while it is destroyed
	client *cDatabase

	mu   sync.Mutex
	open map[*futures]struct{} // of the attempts that were not released and are not garbage
}

var _ kv.Database = (*Database)(nil)

// Begin implements [kv.Database].
func (db *Database) Begin() (kv.Transaction, error) {
	t, err := db.begin(false)
	if err != nil {
		return nil, err
	}
	return t, nil
}

// begin returns a transaction. If scoped is set, the caller releases it in any case.
func (db *Database) begin(scoped bool) (*transaction, error) {
	h, err := db.createHandle(scoped)
	if err != nil {
		return nil, err
	}
	t := newTransaction(db, scoped)
	t.beginAttempt(newAttempt(h, t.versions))
	return t, nil
}

// createHandle returns a new transaction of the client: see newHandle.
func (db *Database) createHandle(scoped bool) (*handle, error) {
	db.handle.RLock()
	defer db.handle.RUnlock()
	if db.closed.Load() {
		return nil, kv.ErrClosed
	}
	c, code := createTransaction(db.client)
	if code != 0 {
		return nil, newError(kv.Code(code), "beginning a transaction")
	}
	return newHandle(c, scoped), nil
}

// mostQueued is about how many bytes may wait for the client's thread, of transactions
// that have ended. Each counts as transactionCost and its writes.
const (
	mostQueued      = 1 << 20
	transactionCost = 1 << 12
)

// awaitClient waits at times until the client's thread has taken the calls of a
// transaction that ends. Otherwise a program that refuses transactions before it waits
// for any read adds to the thread's queue faster than the thread can take from it.
func (db *Database) awaitClient(a *attempt) {
	if db.queued.Add(a.written.Load()+transactionCost) <= mostQueued {
		return
	}
	db.queued.Store(0)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = await(a, a.approximateSize(), "GetApproximateSize", takeNumber).Get(ctx)
}

// Transact implements [kv.Transactor]. Errors of the official binding that fn
// returns are retried like those of this package.
func (db *Database) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	t, err := db.begin(true)
	if err != nil {
		return err
	}
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
	return kv.RetryRead(ctx, readOnlyTransaction{t}, func() error { return fromBinding(fn(t)) })
}

// minVersionKey is where the cluster keeps the version that fdbcli advanceversion asks for.
const minVersionKey = "\xff/minRequiredCommitVersion"

// highestAdvance is how far [Database.AdvanceVersion] may go, as in the embedded engine. A cluster that comes near the
// end of its versions is unavailable for good. fdbcli advanceversion has a bound of its own, which does not
// apply to one who writes the key.
const highestAdvance = math.MaxInt64 / 2

// AdvanceVersion makes all versions from now on higher than above, as fdbcli advanceversion
// does. It changes nothing if they are. The cluster recovers for that, which takes seconds, in
// which nothing is read or committed. Clusters that are locked are advanced, too.
//
// Errors: above is negative or higher than half of the largest int64; those of a commit.
func (db *Database) AdvanceVersion(ctx context.Context, above int64) error {
	if above < 0 || above > highestAdvance {
		return fmt.Errorf("fdbkv: cannot advance to the version %d: it must be 0 to %d", above, int64(highestAdvance))
	}
	for {
		reached, err := kv.Transact(ctx, db, func(tx kv.Transaction) (bool, error) {
			for _, o := range []kv.Option{kv.OptionAccessSystemKeys, kv.OptionLockAware} {
				if err := tx.SetOption(o, 0); err != nil {
					return false, err
				}
			}
			now, err := tx.GetReadVersion().Get(ctx)
			if err != nil || now > above {
				return err == nil, err
			}
			tx.Set([]byte(minVersionKey), binary.LittleEndian.AppendUint64(nil, uint64(above)+1))
			return false, nil
		})
		if err != nil || reached {
			return err
		}
	}
}

// trackAttempt has the attempt's reads given up by Close. Unless it is scoped, its
// results are freed when it is garbage.
func (db *Database) trackAttempt(a *attempt, scoped bool) {
	if !scoped {
		a.cleanup = runtime.AddCleanup(a, func(s *futures) {
			db.untrack(s)
			s.destroy()
		}, a.futures)
	}
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
	destroyDatabase(db.client)
	return nil
}

// beginReadTransaction returns a transaction for a function of ReadTransact. A default
// timeout counts from the beginning of a transaction of the client: then none is
// shared.
func (db *Database) beginReadTransaction(share bool) (*transaction, error) {
	if db.defaults.Timeout != 0 {
		return db.begin(true)
	}
	if db.closed.Load() {
		return nil, kv.ErrClosed
	}
	t := newTransaction(db, true)
	t.share = share
	return t, nil
}

// Unwrap returns the database as the binding's. It is valid until Close, and must not
// be closed.
func (db *Database) Unwrap() fdb.Database {
	var database fdb.Database
	wrapPointer(&database, "database", unsafe.Pointer(db.client))
	return database
}
