// SPDX-License-Identifier: Apache-2.0

// Package persistabletest opens databases for the tests of programs that use package
// persistable:
//
//	orders := OrderStoreOf(persistabletest.Open(t), "tenant-1")
//	if err := orders.Create(t.Context(), orders.New(Order{Number: "A-1001"})); err != nil {
//		t.Fatal(err)
//	}
//
// The database is that of the embedded engine, in memory: it has the transactions, the limits
// and the errors of one on disk. Each call of [Open] makes another one, so that tests can run in
// parallel.
//
// Conflicts and lost acknowledgements are rare in a test. [Options.Hostile] makes them common:
// a function that does harm when a transaction runs it again fails its test then.
package persistabletest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/optional"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// Options say what database [Open] makes. The zero value is one like that of a program.
type Options struct {
	// DB are the options of the DB.
	DB persistable.Options

	// CountedIDs numbers the records whose IDs are of type idgen.ID: the stores of the DB make the
	// IDs 1, 2, 3 and so on, in the order in which the test asks for them. So a test can compare
	// whole records, or a page, with what it expects. ULIDs and UUIDs stay random, because no
	// database makes them. DB.IDs must be the zero value. The default value is false: IDs are
	// leased, as in a program.
	CountedIDs bool

	// Hostile lets every transaction fail at least once, in one of the ways in which one on a
	// cluster can fail: it conflicts, its acknowledgement is lost, before or after a real
	// commit, or it becomes too old. The DB runs it again, so a correct program notices
	// nothing. Reads come in small batches, late and out of order, and watches fire without a
	// change. It takes some milliseconds for each transaction. The default value is false.
	Hostile bool

	// Seed repeats the choices of a hostile engine: its n-th transaction fails in the same
	// way. That the n-th transaction is the same one in each run is up to the test: with several
	// goroutines it is not, and without CountedIDs the lease of IDs is one of them. The default
	// value is another seed in each run. The test logs it, which go test shows if it fails.
	Seed uint64
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	if o.CountedIDs && (o.DB.IDs.Generator != nil || o.DB.IDs.Off) {
		faults = append(faults, errors.New("persistabletest: Options has CountedIDs, but DB.IDs says where IDs come from: leave one of them out"))
	}
	if o.Seed != 0 && !o.Hostile {
		faults = append(faults, errors.New("persistabletest: Options has a Seed, which only a Hostile engine uses"))
	}
	return errors.Join(append(faults, o.DB.Validate())...)
}

// Open returns a DB on an empty database in memory. The end of the test closes both, by
// t.Cleanup. The test fails at once if the options are not valid. At most one Options can
// be given.
//
// While several DBs are open, as in parallel tests, constructors such as NewOrder leave IDs to
// Create: see [persistable.IDOptions]. The New of a store makes them. [persistable.DB.Engine] is
// the database: a test opens it again, as another process would, by [persistable.Open].
//
// Open and the end of the test may be in a bubble of package testing/synctest. The time of the
// database is then that of the bubble.
func Open(tb testing.TB, options ...Options) *persistable.DB {
	tb.Helper()
	o, err := optional.Options("persistabletest", options)
	if err != nil {
		tb.Fatal(err)
	}
	if o.CountedIDs {
		o.DB.IDs.Generator = new(counter)
	}
	engine := openEngine(tb, o)
	db, err := persistable.Open(tb.Context(), engine, o.DB)
	if err != nil {
		tb.Fatal(errors.Join(err, engine.Close()))
	}
	tb.Cleanup(func() {
		if err := errors.Join(db.Close(), engine.Close()); err != nil {
			tb.Errorf("persistabletest: closing the database: %v", err)
		}
	})
	return db
}

func openEngine(tb testing.TB, o Options) kv.Database {
	tb.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		tb.Fatal(err)
	}
	if !o.Hostile {
		return engine
	}
	for o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	tb.Logf("persistabletest: to repeat the faults of the engine: Options.Seed: %d", o.Seed)
	return faults.Hostile(engine, faults.Options{Seed: o.Seed})
}

// counter is a generator of the IDs 1, 2, 3 and so on.
type counter struct{ last atomic.Int64 }

// Next implements [idgen.Generator].
func (c *counter) Next(context.Context) (idgen.ID, error) { return idgen.ID(c.last.Add(1)), nil }
