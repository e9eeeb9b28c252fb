// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/goroutine"
	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// Transact runs fn in a transaction and commits it. After a retryable error it
// runs fn again, so fn must have no effect outside of the transaction, and the
// ids of the records it creates must have been made before.
//
// If the acknowledgement of a commit is lost, Transact looks for the records
// that the attempt created. If one of them is there, it returns nil without running
// fn again. If fn created none, or other transactions have deleted all of them, fn
// runs again: let it read what it changes, and not just add to it.
//
// A store takes part in the transaction only if it is bound to it by its In. A write
// of fn through one that is not bound fails with an [ErrOutsideTransaction], and nothing
// of it is committed; [OwnTransaction] allows it. What is noticed, the error says.
//
// A write that returns an error has written nothing, so fn may go on after it and
// commit the rest; a batch says how many records it has written. Where that cannot be
// so, because the error came when a store was being made, Transact fails with the error,
// whatever fn returns.
//
// A transaction lives five seconds. A function that takes longer is run three
// times, then Transact returns a *[kv.RetryError] that names the code 1007: do less
// in each of several transactions, and read large ranges by a Scan or a query that
// is not bound to the transaction, which may take longer. After a thousand
// conflicts in a row Transact returns a *kv.RetryError, too.
//
// ctx's deadline becomes the transaction's timeout, and its end cancels the
// transaction. If ctx has ended already, fn does not run.
func (db *DB) Transact(ctx context.Context, fn func(tx Tx) error) (err error) {
	db.mustBeOpen()
	ctx, o := db.begin(ctx, Operation{Name: "Transact"}, nil)
	defer o.finish(&err)
	defer db.nameEnded(ctx, "Transact", &err)
	return db.transactFunction(ctx, func(t *transaction) error {
		err := fn(Tx{t: t})
		t.onlyReads = t.Count.Load() == 0
		return err
	})
}

// transactFunction is transact for a fn that calls a function of the program, which
// may forget to bind a store to the transaction.
func (db *DB) transactFunction(ctx context.Context, fn func(*transaction) error) error {
	return db.transact(ctx, func(t *transaction) error {
		defer db.functions.enter()()
		return fn(t)
	})
}

// transactOnce runs a single operation in a transaction of its own.
func (db *DB) transactOnce(ctx context.Context, fn func(*transaction) error) error {
	return db.transact(ctx, func(t *transaction) error {
		t.untouched = true
		return fn(t)
	})
}

func (db *DB) transact(ctx context.Context, fn func(*transaction) error) error {
	if db.options.ReadOnly {
		return errOptionReadOnly
	}
	o := db.operationOf(ctx)
	writer, err := o.engine(db).Begin()
	if err != nil {
		return err
	}
	writer = o.measureWrites(writer)
	t := newWriteTransaction(db, writer)
	t.operation = o
	err = kv.Retry(ctx, writer, func(a kv.Attempt) error {
		o.startAttempt()
		if err := t.askForConflicts(ctx, a); err != nil {
			return err
		}
		if a.Number > 1 {
			t.startAttempt(a)
		}
		t.conflicts = a.Conflicts
		if t.unsure = a.MaybeCommitted; t.unsure {
			committed, err := t.committedEarlier(ctx)
			if t.written.found = committed; committed || err != nil {
				return err
			}
		}
		t.startFences()
		if err := cmp.Or(fn(t), t.checkWhole()); err != nil {
			return o.endAttempt(err)
		}
		if err := db.functions.checkOutside(ctx, t); err != nil {
			return err
		}
		t.prepareCommit()
		return t.awaitFences(ctx)
	})
	for _, f := range db.fences {
		f.NoteEnd(err)
	}
	if err == nil {
		t.tellCommitted(ctx)
	}
	return t.explain(kv.TransactionOptions{Identifier: o.identifier(db)}.NameError(err))
}

// explainsConflicts reports whether transactions ask the engine what they conflict on.
func (db *DB) explainsConflicts() bool {
	return db.options.ExplainConflicts || db.options.Tracer != nil
}

// ReadTransact runs fn in a transaction that only reads: all its reads see one
// version, and none conflicts with a write. Writes fail with [ErrReadOnly], those through a
// store that is not bound with an [ErrOutsideTransaction]: what fn has read may have changed
// by then. After a retryable error it runs fn again.
//
// A version can be read for five seconds. A function that takes longer is run
// three times, then ReadTransact returns a *[kv.RetryError] that names the code
// 1007: read less in it, or use a Scan or a query that is not bound to the
// transaction, which goes on at a new version.
func (db *DB) ReadTransact(ctx context.Context, fn func(tx Tx) error) (err error) {
	db.mustBeOpen()
	ctx, o := db.begin(ctx, Operation{Name: "ReadTransact"}, nil)
	defer o.finish(&err)
	defer db.nameEnded(ctx, "ReadTransact", &err)
	return db.readOnly(ctx, func(t *transaction) error {
		defer db.functions.enter()()
		return fn(Tx{t: t})
	})
}

func (db *DB) readOnly(ctx context.Context, fn func(*transaction) error) error {
	o := db.operationOf(ctx)
	return o.engine(db).ReadTransact(ctx, func(reader kv.ReadTransaction) error {
		o.startAttempt()
		return o.endAttempt(fn(&transaction{db: db, operation: o, Transaction: scan.Transaction{Reader: o.measureReads(reader).Snapshot()}}))
	})
}

// In returns the Tx of a transaction that the caller has begun. Call it once in each
// attempt, not once for each of several goroutines: these see each other's writes
// only within one Tx. The caller retries and commits. After a commit with a lost
// acknowledgement Create may find the caller's own record of the attempt before and
// report [ErrExists]; [DB.Transact] recognizes it. Where an operation has failed with a
// part of it written, In's caller gets the code 1025 from the commit, if the error was not
// one to be retried; return such errors. Writes of stores fail with the code 2000 if an option
// of the transaction keeps its reads from seeing its own writes.
func (db *DB) In(tx kv.Transaction) Tx {
	db.mustBeOpen()
	t := newWriteTransaction(db, tx)
	t.borrowed = true
	t.lent.Store(true)
	return Tx{t: t}
}

// ErrOutsideTransaction is the error of a write that the function of a transaction makes
// outside of that transaction: through a store of the same [DB] that In has not bound to
// it. The write would stay even if the transaction failed, and would be made again in
// each further attempt. Nothing of it is committed.
//
// It is noticed in functions of [DB.Transact], of [DB.ReadTransact], of a store's Update and of
// [Consumer.Next], whatever they read and write themselves, where the function calls the verb in
// its own goroutine. The context that is passed does not matter, except for [OwnTransaction].
// Not noticed are
//
//   - writes from goroutines that the function starts: they are like those of other goroutines
//     of the program, which may write at any time;
//   - reads through an unbound store, which persistvet finds;
//   - writes through another DB that [Open] returned, and [DB.RemoveDirectory];
//   - a write after the function has returned, of a record that it has read. Another
//     transaction may have changed the record by then: use [Store.Update] or [Store.SaveIfUnchanged].
var ErrOutsideTransaction = errors.New("persistable: a write is outside of the transaction of its function")

// OwnTransaction returns a context with which a function of [DB.Transact], or another one, may write
// outside of its transaction, through a store that is not bound to it: a log of attempts,
// say, that must stay even if the transaction fails. Each attempt of the function makes
// such a write again.
func OwnTransaction(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownTransaction{}, true)
}

type ownTransaction struct{}

// runningFunctions counts the functions of transactions that run now, by goroutine.
type runningFunctions struct {
	count   atomic.Int64
	mu      sync.Mutex
	running map[uintptr]int
}

// enter counts a function until the returned function is called in the same goroutine.
func (f *runningFunctions) enter() (leave func()) {
	g := goroutine.ID()
	f.add(g, 1)
	return func() { f.add(g, -1) }
}

func (f *runningFunctions) add(g uintptr, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running == nil {
		f.running = map[uintptr]int{}
	}
	if f.running[g] += n; f.running[g] == 0 {
		delete(f.running, g)
	}
	f.count.Add(int64(n))
}

// checkOutside returns an [ErrOutsideTransaction] if the goroutine of t, which is about to
// commit, runs the function of another transaction.
func (f *runningFunctions) checkOutside(ctx context.Context, t *transaction) error {
	place := t.opened.first.place
	if f.count.Load() == 0 || place == nil || t.onlyReads || ctx.Value(ownTransaction{}) != nil {
		return nil
	}
	g := goroutine.ID()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running[g] == 0 {
		return nil
	}
	return fmt.Errorf("%w: bind the store of %s by In(tx), as in store.In(tx).Save(ctx, v), in a function of Transact; if a transaction of its own is meant, pass OwnTransaction(ctx)",
		ErrOutsideTransaction, place.typ)
}

// nameEnded is that of a source for a function in a transaction.
func (db *DB) nameEnded(ctx context.Context, verb string, err *error) {
	if *err != nil && ctx.Err() != nil {
		*err = fmt.Errorf("persistable: %s: %w", verb, *err)
	}
}

// begin begins an operation, which is bound to a transaction or, if that is nil, has its
// own.
func (db *DB) begin(ctx context.Context, op Operation, t *transaction) (context.Context, *operation) {
	if db.options.Tracer == nil || ctx.Value(operationKey{}) != nil {
		return ctx, nil
	}
	o := &operation{meter: new(measure.Meter), bound: t != nil}
	if o.bound {
		op.Bound = true
		if t.operation != nil {
			o.meter, o.before = t.operation.meter, t.operation.meter.Usage()
			ctx = boundContext{ctx, context.WithoutCancel(t.operation.ctx)} // the operation ends for its own cause
		}
	}
	o.ctx, o.end = db.options.Tracer.Begin(ctx, op)
	o.began = time.Now()
	return context.WithValue(o.ctx, operationKey{}, o), o
}

// operationOf returns the operation that is about to begin its transaction, or nil.
func (db *DB) operationOf(ctx context.Context) *operation {
	if db.options.Tracer == nil {
		return nil
	}
	o, _ := ctx.Value(operationKey{}).(*operation)
	return o
}
