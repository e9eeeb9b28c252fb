// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// Tx is a transaction to which stores are bound by their In. It is valid until
// the function to which it was given returns.
type Tx struct{ t *transaction }

// KV returns the transaction beneath, for keys of one's own. Keys in the
// directories of types belong to their stores. It is nil in ReadTransact, and
// that of the zero Tx.
func (tx Tx) KV() kv.Transaction {
	if tx.t == nil || tx.t.isReadOnly() {
		return nil
	}
	return tx.t.writer
}

// transaction is one attempt of a transaction, and what the attempts of one
// call have in common.
type transaction struct {
	db *DB
	scan.Transaction
	mu     sync.Mutex
	opened openPlaces

	untouched bool // a single operation's own, which has not opened a place yet
	asked     bool // the metadata version, which arrives in
	metadata  kv.Future[[]byte]

	*writeState // nil if read-only
}

// isReadOnly reports whether the transaction cannot write.
func (t *transaction) isReadOnly() bool { return t.writeState == nil }

// writeState is what only a transaction that writes has. Writes of several
// goroutines overlap in it. So that of two that claim one id or one unique value
// one sees what the other has written:
//
//  1. A write loads Writes.Count before it starts its reads.
//  2. It then takes writeLock, and holds it until it has written.
//  3. If the count has changed since 1, it reads and checks once more. The engine
//     has most of that in memory, since the transaction has read it before.
//  4. After it has written, or failed half-way, it adds one to the count.
type writeState struct {
	writer    kv.Transaction
	token     format.Token
	writeLock sync.Mutex
	fences    []leasefdb.Checking // of the DB, once they are begun to be checked
	outside   outside             // what the function writes outside of the transaction
	created   [][]byte            // the keys of the records that this attempt created
	earlier   [][]byte            // those of earlier attempts
}

func newWriteTransaction(db *DB, tx kv.Transaction) *transaction {
	both := &struct {
		transaction
		writeState
		scan.Writes
	}{transaction{db: db}, writeState{writer: tx, token: format.NewToken()}, scan.Writes{Writer: tx}}
	both.transaction.writeState = &both.writeState
	both.transaction.Transaction = scan.Transaction{Reader: tx, Writes: &both.Writes}
	return &both.transaction
}

// openPlaces are places as a transaction sees them. There is room for one,
// since most transactions have one.
type openPlaces struct {
	first openPlace
	more  []openPlace
}

type openPlace struct {
	place *place
	store *openStore // nil: there is none
}

func (o *openPlaces) find(p *place) (s *openStore, found bool) {
	if o.first.place == p {
		return o.first.store, true
	}
	for _, other := range o.more {
		if other.place == p {
			return other.store, true
		}
	}
	return nil, false
}

func (o *openPlaces) add(p *place, s *openStore) {
	if o.first.place == nil {
		o.first = openPlace{p, s}
		return
	}
	o.more = append(o.more, openPlace{p, s})
}

// Transact runs fn in a transaction and commits it. After a retryable error it
// runs fn again, so fn must have no effect outside of the transaction, and the
// ids of the records it creates must have been made before.
//
// If the acknowledgement of a commit is lost, Transact looks for the records
// that the attempt created and, if they are there, returns nil without running
// fn again. Where fn creates no record, or none that is still there because
// somebody deleted it in the meantime, it runs again: let it read what it
// changes, and not just add to it.
//
// Stores take part in the transaction only if they are bound to it by their In. A
// function that reads a record through a bound store and writes it through one
// that is not conflicts with itself each time: that is an
// [ErrOutsideTransaction].
//
// A transaction lives five seconds. A function that takes longer is run three
// times, then Transact returns a *[kv.RetryError] that names the code 1007: let
// it do less, in several transactions, and read what is large by a Scan or a
// query that is not bound to the transaction: such a one takes as long as it
// must. A thousand conflicts in a row are a *kv.RetryError, too.
//
// ctx's deadline becomes the transaction's timeout, and its end cancels the
// transaction. If ctx has ended already, fn is not run.
func (db *DB) Transact(ctx context.Context, fn func(tx Tx) error) error {
	return db.transact(ctx, func(t *transaction) error {
		if t.outside.watched {
			defer db.functions.enter(t)()
		}
		return fn(Tx{t})
	})
}

// alone runs a single operation in a transaction of its own.
func (db *DB) alone(ctx context.Context, fn func(*transaction) error) error {
	return db.transact(ctx, func(t *transaction) error {
		t.untouched = true
		return fn(t)
	})
}

func (db *DB) transact(ctx context.Context, fn func(*transaction) error) error {
	db.mustBeOpen()
	writer, err := db.engine.Begin()
	if err != nil {
		return err
	}
	t := newWriteTransaction(db, writer)
	defer db.functions.note(t)
	return kv.Retry(ctx, writer, func(a kv.Attempt) error {
		if a.Number > 1 {
			t.restart()
			if err := t.outside.check(a); err != nil {
				return err
			}
		}
		if a.MaybeCommitted {
			committed, err := t.committedEarlier(ctx)
			if committed || err != nil {
				return err
			}
		}
		t.startFences()
		if err := fn(t); err != nil {
			return err
		}
		return t.awaitFences(ctx)
	})
}

// restart forgets what the attempt before has seen.
func (t *transaction) restart() {
	t.opened, t.asked = openPlaces{}, false
	t.fences = nil
	t.earlier = append(t.earlier, t.created...)
	t.created = t.created[:0]
}

// committedEarlier reports whether an attempt before this one did commit: a
// record that it created is there and has the token of this call. It is asked
// in every attempt behind one with an unknown outcome, whatever errors came in
// between.
func (t *transaction) committedEarlier(ctx context.Context) (bool, error) {
	reads := make([]kv.Future[[]byte], len(t.earlier))
	for i, key := range t.earlier {
		reads[i] = t.Reader.Get(key)
	}
	for _, read := range reads {
		value, err := read.Get(ctx)
		if err != nil {
			return false, err
		}
		if s, err := format.ParseRecord(value); err == nil && s.Token == t.token {
			return true, nil
		}
	}
	return false, nil
}

// noteCreated remembers the key of a record that this attempt creates: each, so
// that it does not matter which of them others delete before the attempt is
// asked about.
func (t *transaction) noteCreated(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = append(t.created, slices.Clone(key))
}

// noteDeleted forgets the key if it was remembered: the record will not tell.
func (t *transaction) noteDeleted(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = slices.DeleteFunc(t.created, func(k []byte) bool { return bytes.Equal(k, key) })
}

// ReadTransact runs fn in a transaction that only reads: all its reads see one
// version, and none conflicts with anybody. Writes fail with [ErrReadOnly].
// After a retryable error it runs fn again.
//
// A version can be read for five seconds. A function that takes longer is run
// three times, then ReadTransact returns a *[kv.RetryError] that names the code
// 1007: read less in it, or read by a Scan or a query that is not bound to the
// transaction, which goes on at a new version.
func (db *DB) ReadTransact(ctx context.Context, fn func(tx Tx) error) error {
	return db.readOnly(ctx, func(t *transaction) error { return fn(Tx{t}) })
}

func (db *DB) readOnly(ctx context.Context, fn func(*transaction) error) error {
	db.mustBeOpen()
	return db.engine.ReadTransact(ctx, func(reader kv.ReadTransaction) error {
		return fn(&transaction{db: db, Transaction: scan.Transaction{Reader: reader.Snapshot()}})
	})
}

// read is readOnly for operations that may take longer than a version can be
// read, because their next attempt goes on where this one stopped.
func (db *DB) read(ctx context.Context, fn func(*transaction) error) error {
	return db.readOnly(ctx, func(t *transaction) error { return kv.Progress(fn(t)) })
}

// In returns a transaction that the caller has opened, for stores to take part
// in. Call it once in each attempt, not once for each of several goroutines:
// those know of each other's writes only within one Tx. Retry and commit stay
// with the caller, and so does the question whether a
// commit with a lost acknowledgement happened: Create may then find the
// caller's own record of an earlier attempt and report [ErrExists]. DB.Transact
// answers that question itself.
func (db *DB) In(tx kv.Transaction) Tx {
	db.mustBeOpen()
	return Tx{newWriteTransaction(db, tx)}
}
