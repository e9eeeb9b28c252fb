// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/internal/optional"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commit"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/commitlog"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mvcc"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/ryw"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/txn"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// Database is an open engine: a [kv.Database]. It is safe for concurrent use.
type Database struct {
	head      mvcc.Head
	watches   watch.Table
	readers   reads.Pool
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
// the engine of [Open] without its disk: those of the options that concern the disk have
// no effect.
func OpenMemory(options ...Options) (*Database, error) {
	o, err := optional.Options("embedded", options)
	if err != nil {
		return nil, err
	}
	db := &Database{}
	db.client, db.tracer = ryw.NewClient(&engine{db}, o.Transactions), o.Tracer
	w := mvcc.NewMemoryWindow()
	if err := db.head.Open(w, nil, 0, memoryHistory); err != nil {
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
// and return the same. Only the disk can make it wait: Close moves the commits of the
// last seconds to their final place, so that the next opening has nothing to read from
// the log.
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

// engine is a database as its transactions use it.
type engine struct{ db *Database }

// Newest implements [ryw.Engine].
func (e *engine) Newest() ryw.View { return engineView{e.db.head.Acquire()} }

// At implements [ryw.Engine].
func (e *engine) At(version int64) (ryw.View, error) {
	v, err := e.db.head.At(version)
	if err != nil {
		return nil, err
	}
	return engineView{v}, nil
}

// CheckAge implements [ryw.Engine].
func (e *engine) CheckAge(version int64) error { return e.db.head.CheckAge(version) }

// Closed implements [ryw.Engine].
func (e *engine) Closed() bool { return e.db.closed.Load() }

// Start implements [ryw.Engine].
func (e *engine) Start(t reads.Task) { e.db.readers.Start(t) }

// Commit implements [ryw.Engine].
func (e *engine) Commit(r *txn.Request) { e.db.committer.Commit(r) }

// Drive implements [ryw.Engine].
func (e *engine) Drive() { e.db.committer.Drive() }

// NewWatch implements [ryw.Engine].
func (e *engine) NewWatch(key, value []byte) (*watch.Watch, error) {
	return e.db.watches.Add(key, value)
}

// Arm implements [ryw.Engine].
func (e *engine) Arm(watches []*watch.Watch) { e.db.committer.Arm(watches) }

// Sample implements [ryw.Engine].
func (e *engine) Sample(r kv.KeyRange) iter.Seq2[[]byte, int64] {
	return func(yield func([]byte, int64) bool) {
		for _, s := range e.db.head.Newest().SampleRange(r.Begin, r.End) {
			if !yield(s.Key, s.Size) {
				return
			}
		}
	}
}

// CountRetry implements [ryw.Engine].
func (e *engine) CountRetry() { e.db.retries.Add(1) }

// engineView is a view as transactions read it. It has the size of a pointer, so
// that an interface holds it without an allocation.
type engineView struct{ *mvcc.View }

var _ ryw.View = engineView{}

// NewScan implements [ryw.View].
func (v engineView) NewScan(b *reads.Budget) ryw.Scan { return v.View.NewScan(b) }

// startCommits makes a folder ready for commits; its log is already in the window.
func (db *Database) startCommits(p *parts, w *mvcc.Window) (err error) {
	d := db.disk
	absorbed := d.base.AbsorbedVersion()
	// The order matters. In a folder of format 1 a segment with a torn header is not damage:
	// Start replaces it before the folder gets the new format. An older version cuts off a
	// segment that it cannot read: until the folder has the new format, that segment has no
	// commits, and Drop has not removed those before it.
	if err := d.log.Start(absorbed); err != nil {
		return err
	}
	if d.identity = cmp.Or(p.identity, newID()); p.identity == "" || p.format < noteFormat {
		if err := writeIdentity(p.fs, p.dir, d.identity); err != nil {
			return err
		}
	}
	if _, err := d.log.Drop(absorbed); err != nil {
		return err
	}
	return db.assemble(w)
}

// keptReaders is how many goroutines wait for reads of the disk. A database in memory has none.
const keptReaders = 16

// assemble makes the parts of a durable database, over what it holds.
func (db *Database) assemble(w *mvcc.Window) (err error) {
	d, o := db.disk, db.disk.options
	db.client, db.tracer = ryw.NewClient(&engine{db}, o.Transactions), o.Tracer
	if err := db.head.Open(w, d.base, max(d.log.LastVersion(), d.base.AbsorbedVersion()), o.historySize()); err != nil {
		return err
	}
	db.readers.Keep = keptReaders
	db.committer = commit.NewCommitter(commit.Options{
		Head: &db.head, Window: w, Watches: &db.watches, Readers: &db.readers,
		Log: d.log, Fault: d.fault, QueueLimit: cmp.Or(o.queueSize, o.WindowSize),
	})
	d.absorber = commit.NewAbsorber(db.committer, commit.AbsorberOptions{
		Base: d.base, Log: d.log, Fault: d.fault, Age: o.window, FlushAt: o.flushAt, SettleAt: o.settleAt(), WindowSize: o.WindowSize, SyncLog: o.syncLog,
	})
	d.keeper = commitlog.NewKeeper(d.log, d.fault)
	return nil
}

// startDisk begins the work in the background.
func (db *Database) startDisk(o Options) error {
	db.committer.Start()
	if err := db.disk.absorber.CatchUp(); err != nil {
		return errors.Join(err, db.Close())
	}
	if o.keepEvery > 0 {
		db.disk.keeper.Start(o.keepEvery)
	}
	if !o.noAbsorb {
		db.disk.absorber.Start()
	}
	return nil
}

// replay reads the log into a window, and puts the database together.
func (db *Database) replay(p *parts) (err error) {
	d := db.disk
	w := mvcc.NewDurableWindow(mvcc.NewJournal(d.options.window, d.options.settleAt()), d.options.leaps)
	absorbed := d.base.AbsorbedVersion()
	if d.log, err = p.readLog(commitlog.Options{}, commitlog.Replay{Above: absorbed, Apply: w.Replay}); err != nil {
		return err
	}
	return db.assemble(w)
}
