// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commit"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/readers"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// Database is an open engine: a [kv.Database]. It is safe for concurrent use.
type Database struct {
	head      mvcc.Head
	watches   watch.Table
	readers   readers.Pool
	committer *commit.Committer
	retries   atomic.Int64  // that OnError allowed
	backups   atomic.Int64  // that were made
	client    *ryw.Client   // of its transactions
	tracer    *Tracer       // nil: none
	begun     atomic.Uint64 // transactions that the tracer was told of
	disk      *disk         // nil: in memory
	closed    atomic.Bool
	closing   sync.Once
	closeErr  error
}

var _ kv.Database = (*Database)(nil)

// OpenMemory returns an empty database that lives as long as the process. It is
// the engine of [Open] without its disk.
func OpenMemory() (*Database, error) { return OpenMemoryWith(Options{}) }

// OpenMemoryWith is [OpenMemory] with options, of which those of the disk have no
// effect.
func OpenMemoryWith(o Options) (*Database, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	db := &Database{}
	db.client, db.tracer = ryw.NewClient(&engine{db}, o.Transactions), o.Tracer
	w := mvcc.NewMemoryWindow()
	if err := db.head.Open(w, nil, 0, defaultWindowSize); err != nil {
		return nil, err
	}
	db.committer = commit.NewCommitter(commit.Options{Head: &db.head, Window: w, Watches: &db.watches, Readers: &db.readers})
	return db, nil
}

// Begin implements [kv.Database].
func (db *Database) Begin() (kv.Transaction, error) {
	if db.closed.Load() {
		return nil, kv.ErrClosed
	}
	return db.wrapForTracer(db.client.Begin()), nil
}

// Transact implements [kv.Transactor].
func (db *Database) Transact(ctx context.Context, fn func(kv.Transaction) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	return kv.Retry(ctx, tx, func(kv.Attempt) error { return fn(tx) })
}

// ReadTransact implements [kv.ReadTransactor].
func (db *Database) ReadTransact(ctx context.Context, fn func(kv.ReadTransaction) error) error {
	if db.closed.Load() {
		return kv.ErrClosed
	}
	tx := db.wrapForTracer(db.client.BeginReadOnly())
	return kv.RetryRead(ctx, tx, func() error { return fn(tx) })
}

// highestAdvance is how far [Database.AdvanceVersion] may go. What is left beyond it lasts for
// more than a hundred thousand years.
const highestAdvance = math.MaxInt64 / 2

// minVersionKey is where FoundationDB keeps the version that fdbcli advanceversion asks for.
const minVersionKey = "\xff/minRequiredCommitVersion"

// AdvanceVersion makes all versions from now on higher than above, as fdbcli advanceversion
// does on a cluster. It changes nothing if they are. A database needs it if its contents were
// written by one with higher versions: otherwise later changes would come before those
// that are stored. Transactions under way fail as if they had become too old. When it
// returns nil the change is durable.
//
// Errors: above is negative or higher than half of the largest int64; those of a commit.
func (db *Database) AdvanceVersion(ctx context.Context, above int64) error {
	if above < 0 || above > highestAdvance {
		return fmt.Errorf("embedded: cannot advance to the version %d: it must be 0 to %d", above, int64(highestAdvance))
	}
	if db.closed.Load() {
		return kv.ErrClosed
	}
	if db.head.Now() > above {
		return nil
	}
	if db.disk != nil && db.disk.options.ReadOnly {
		return fmt.Errorf("embedded: advancing the versions of %s: %w", db.disk.dir, ErrReadOnly)
	}
	db.head.Advance(above)
	return db.Transact(ctx, func(tx kv.Transaction) error {
		if err := tx.SetOption(kv.OptionAccessSystemKeys, 0); err != nil {
			return err
		}
		tx.Set([]byte(minVersionKey), binary.LittleEndian.AppendUint64(nil, uint64(above)+1))
		return nil
	})
}

// Close implements [kv.Database]. Commits that have begun are finished, reads and
// batches of ranges under way too; what comes later, watches, and backups under
// way fail with [kv.ErrClosed]. When Close returns, nothing of the database runs
// any more, and another may open the folder; further calls wait for that, too,
// and return the same. Only the disk can make it wait.
func (db *Database) Close() error {
	db.closed.Store(true)
	db.closing.Do(func() { db.closeErr = db.close() })
	return db.closeErr
}

func (db *Database) close() error {
	db.readers.Wait() // commits that have begun may wait for reads
	db.committer.Stop(kv.ErrClosed)
	db.watches.Close(kv.ErrClosed)
	db.head.Close()
	defer db.readers.Wait()
	if db.disk == nil {
		return nil
	}
	return db.disk.close()
}

// wrapForTracer returns a new transaction as the program gets it: wrapped if there is a
// tracer.
func (db *Database) wrapForTracer(tx *ryw.Transaction) kv.Transaction {
	if db.tracer == nil {
		return tx
	}
	t := &tracerTransaction{Transaction: tx, tracer: db.tracer, number: db.begun.Add(1)}
	t.attempt.Store(1)
	return t
}
