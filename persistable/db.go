// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/optional"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/tuple"
)

// DB keeps records in an engine. It is safe for concurrent use; a process needs
// one. The caller owns the engine and closes it after the DB.
type DB struct {
	root     *DB         // that Open or Under returned: stores of all DBs of With of one root share transactions
	engine   kv.Database // with settings
	settings kv.TransactionOptions
	options  Options
	dirs     *directory.Cache
	places   placeTable
	tokenKey []byte           // authenticates page tokens
	fences   []leasefdb.Fence // every transaction that writes checks them
	ids      *identities

	functions *runningFunctions
}

// Open returns a DB on the engine. The first Open of a database writes the key of its
// page tokens. Close the DB before the engine. At most one Options can be given.
func Open(ctx context.Context, engine kv.Database, options ...Options) (*DB, error) {
	o, err := optional.Options("persistable", options)
	if err != nil {
		return nil, err
	}
	if engine == nil {
		return nil, errors.New("persistable: open: the engine is nil")
	}
	o = o.withDefaults()
	dirs, err := directory.NewCache(o.Layer, engine, directory.CacheOptions{MaxEntries: o.CacheSize})
	if err != nil {
		return nil, err
	}
	db := &DB{engine: engine, options: o, dirs: dirs, places: newPlaceTable(o.CacheSize), functions: new(runningFunctions)}
	db.root = db
	if db.tokenKey, err = db.loadTokenKey(ctx); err != nil {
		return nil, fmt.Errorf("persistable: open: %w", err)
	}
	if db.ids, err = newIdentities(engine, o); err != nil {
		return nil, fmt.Errorf("persistable: open: %w", err)
	}
	return db, nil
}

// Options configure a [DB]. The zero value is ready to use.
type Options struct {
	// Layer is the directory layer in which the types' directories are. The
	// default value is directory.Root().
	Layer *directory.Layer
	// SystemPath is the directory of the DB's own keys, such as the key that
	// authenticates page tokens. The default value is kazahana/persistable.
	SystemPath []string
	// PageSize is the number of records on a page of a query without a Limit.
	// The default value is 100.
	PageSize int
	// BuildBatch is the maximum number of records that Indexes().Build and Verify read
	// in a transaction; they read fewer if records are large or often written. The
	// default value is 500.
	BuildBatch int
	// CacheSize is the maximum number of opened directories in the cache. The
	// default value is 10,000.
	CacheSize int
	// Tracer is told of the operations of the DB. Without one the DB
	// does nothing for it.
	Tracer Tracer
	// ExplainConflicts lets a transaction that gives up because of conflicts say which
	// records, indexes and tenants others have changed: a *[ConflictError]. A Tracer is
	// told of all conflicts, also without it. The engine then reports the keys of each
	// conflict, which costs a little of each commit.
	ExplainConflicts bool
	// WatchPoll is how often Store.Watch reads a record that it cannot watch. The
	// default value is a second.
	WatchPoll time.Duration
	// ReadOnly opens a DB that writes nothing, also on an engine that is open for reading
	// only: Transact and all writes fail with [ErrReadOnly], and Transact of a function
	// that only reads does, too. If no DB has opened the database before, page tokens are
	// good for this DB only. Machine ids are not leased: IDs must be Off. The default
	// value is false.
	ReadOnly bool
	// IDs say where the ids of new records come from. The default value leases
	// machine ids from the database.
	IDs IDOptions
	// TagOf returns the tag of the operations of the stores in a directory, so that an operator
	// of a cluster can limit the load of one tenant (kv.TransactionOptions.Tags); "" for
	// none. It is called when a store is made. The transaction of a function of DB.Transact may
	// be of several tenants: it has the tags of its DB only.
	TagOf func(path []string) string
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	for name, n := range map[string]int{"PageSize": o.PageSize, "BuildBatch": o.BuildBatch, "CacheSize": o.CacheSize} {
		if n < 0 {
			faults = append(faults, fmt.Errorf("persistable: Options.%s is %d, must not be negative", name, n))
		}
	}
	if o.WatchPoll < 0 {
		faults = append(faults, fmt.Errorf("persistable: Options.WatchPoll is %v, must not be negative", o.WatchPoll))
	}
	if o.ReadOnly && !o.IDs.Off {
		faults = append(faults, errors.New("persistable: Options is ReadOnly, but IDs would be leased, which writes: set IDs.Off"))
	}
	return errors.Join(append(faults, o.IDs.validate())...)
}

func (o Options) withDefaults() Options {
	if o.Layer == nil {
		o.Layer = directory.Root()
	}
	if o.SystemPath == nil {
		o.SystemPath = []string{"kazahana", "persistable"}
	}
	if o.IDs.Leases.Path == nil {
		o.IDs.Leases.Path = []string{"kazahana", "leases"}
	}
	o.PageSize = orDefault(o.PageSize, 100)
	o.BuildBatch = orDefault(o.BuildBatch, 500)
	o.CacheSize = orDefault(o.CacheSize, 10_000)
	if o.WatchPoll == 0 {
		o.WatchPoll = time.Second
	}
	return o
}

func orDefault(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

// isOpen reports whether the DB comes from Open.
func (db *DB) isOpen() bool { return db != nil && db.engine != nil }

// mustBeOpen panics if the DB does not come from Open.
func (db *DB) mustBeOpen() {
	if !db.isOpen() {
		panic(fmt.Errorf("persistable: %w", errNoDB))
	}
}

// Engine returns the engine on which the DB was opened.
func (db *DB) Engine() kv.Database { return db.engine }

const tokenKeySize = 32

// loadTokenKey reads the key of page tokens. If there is none it writes a random one;
// a DB that only reads keeps it.
func (db *DB) loadTokenKey(ctx context.Context) ([]byte, error) {
	have, err := db.readTokenKey(ctx)
	if have != nil || err != nil {
		return have, err
	}
	fresh := make([]byte, tokenKeySize)
	if _, err := rand.Read(fresh); err != nil {
		return nil, err
	}
	if db.options.ReadOnly {
		return fresh, nil
	}
	return db.writeTokenKey(ctx, fresh)
}

const (
	tokenKeyName = "page token key"
	// needsKeyName is the key of what the database as a whole needs of programs: a packed tuple
	// of texts, as [newer.ReadTuple] reads it. Nothing so far.
	needsKeyName = "needs"
)

// readTokenKey returns nil if there is no key. The error is an [ErrNewer] if the database needs
// what this program does not know.
func (db *DB) readTokenKey(ctx context.Context) (key []byte, err error) {
	err = db.engine.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		d, err := db.options.Layer.Open(ctx, tx, db.options.SystemPath)
		if errors.Is(err, directory.ErrNotFound) {
			key = nil
			return nil
		}
		if err != nil {
			return err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return err
		}
		needs := tx.Get(tuple.AppendString(slices.Clone(prefix), needsKeyName))
		if key, err = tx.Get(tuple.AppendString(prefix, tokenKeyName)).Get(ctx); err != nil {
			return err
		}
		return db.checkNeeds(ctx, needs)
	})
	return key, err
}

func (db *DB) checkNeeds(ctx context.Context, read kv.Future[[]byte]) error {
	value, err := read.Get(ctx)
	if err != nil {
		return err
	}
	needs, err := newer.ReadTuple(value)
	switch {
	case err != nil:
		return err
	case db.options.ReadOnly:
		return newer.CheckRead(needs)
	}
	return newer.CheckWrite(needs)
}

// writeTokenKey returns the key that another process has written, or else writes the
// fresh one.
func (db *DB) writeTokenKey(ctx context.Context, fresh []byte) ([]byte, error) {
	return kv.Transact(ctx, db.engine, func(tx kv.Transaction) ([]byte, error) {
		d, err := db.options.Layer.CreateOrOpen(ctx, tx, db.options.SystemPath)
		if err != nil {
			return nil, err
		}
		prefix, err := d.Prefix()
		if err != nil {
			return nil, err
		}
		key := tuple.AppendString(prefix, tokenKeyName)
		have, err := tx.Get(key).Get(ctx)
		if err != nil || have != nil {
			return have, err
		}
		tx.Set(key, fresh)
		return fresh, nil
	})
}

// Format implements [fmt.Formatter]: it prints which engine the DB is on, and not
// the key that authenticates page tokens.
func (db *DB) Format(f fmt.State, _ rune) {
	if db == nil {
		fmt.Fprint(f, "<nil>")
		return
	}
	fmt.Fprintf(f, "persistable.DB{%T}", db.engine)
}

// IDs returns the generator of the DB: the client that leases from the database,
// or the one given in [IDOptions], or else [idgen.Default].
func (db *DB) IDs() idgen.Generator {
	db.mustBeOpen()
	switch {
	case db.ids.client != nil:
		return db.ids.client
	case db.ids.options.Generator != nil:
		return db.ids.options.Generator
	}
	return idgen.Default()
}

// Leases returns the provider from which the DB leases machine ids, for example to
// list them; nil if it leases none.
func (db *DB) Leases() *leasefdb.Provider {
	db.mustBeOpen()
	return db.ids.provider
}

// Close releases the machine ids that the DB has leased, so that other processes
// can lease them at once, and uninstalls its generator. Stores still work, but make
// no new ids. The engine stays open; close it afterwards. The leases of a DB that is
// not closed end by themselves, after ten minutes by default. Close waits for the
// database for up to five seconds. A second call does nothing.
func (db *DB) Close() error {
	db.mustBeOpen()
	return db.ids.close()
}

// Under returns a DB on the same database whose transactions commit only while
// the fences hold, in addition to those of db: while a named lease is this
// process's, for example.
//
//	lease, err := names.Acquire(ctx, "importer", leasefdb.Claim{})
//	orders := OrderStoreOf(db.Under(lease.Fence()), "tenant-1")
//	err = orders.Save(ctx, o) // an ErrFenced, once another process has the lease
//
// Every transaction that writes, or that Transact runs, reads the key of each
// fence, in the round of its other reads. If a fence does not hold, the transaction
// fails with an [ErrFenced] and changes nothing; no clock is read. Transactions
// that only read are not fenced.
//
// Stores made of the result and stores made of db cannot share a transaction.
// Closing either DB closes both.
func (db *DB) Under(fences ...leasefdb.Fence) *DB {
	db.mustBeOpen()
	fenced := *db
	fenced.root = &fenced
	fenced.places = newPlaceTable(db.options.CacheSize)
	fenced.fences = slices.Concat(db.fences, fences)
	return &fenced
}

// With returns a DB on the same database with options for its transactions, over those that db
// has: see [kv.TransactionOptions.With]. Stores of both can share a transaction, which has the
// options of the DB that runs it.
//
//	reports := db.With(kv.TransactionOptions{Priority: kv.PriorityBatch, Tags: []string{"reports"}})
//	err := reports.ReadTransact(ctx, func(tx persistable.Tx) error { … })
//	orders := OrderStoreOf(reports, "tenant-1") // each operation has the options
//
// If the options are not valid, each transaction fails with the error of their Validate. Closing
// either DB closes both.
func (db *DB) With(o kv.TransactionOptions) *DB {
	db.mustBeOpen()
	if o.IsZero() {
		return db
	}
	with := *db
	with.engine, with.settings = kv.With(db.engine, o), db.settings.With(o)
	return &with
}

// Maintenance returns the DB for work that may take long, and that no user waits for: at batch
// priority, unless With has set another. A cluster that is loaded begins its transactions last.
// Builds, verification and repair of indexes, [Feed.Prune], [DB.RemoveDirectory], batches
// of more than one transaction and package tenants use it by themselves.
func (db *DB) Maintenance() *DB {
	db.mustBeOpen()
	if db.settings.Priority != 0 {
		return db
	}
	return db.With(kv.TransactionOptions{Priority: kv.PriorityBatch})
}
