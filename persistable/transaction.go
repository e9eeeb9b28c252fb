// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/persistable/internal/format"
	"github.com/kazahana-db/kazahana/persistable/internal/scan"
)

// Tx is a transaction to which a store is bound by its In. It is valid until the
// function that received it returns.
type Tx struct{ t *transaction }

// KV returns the engine's transaction, for keys of the program's own. Keys in the
// directories of types belong to their stores. It is nil in ReadTransact and for
// the zero Tx.
func (tx Tx) KV() kv.Transaction {
	if tx.t == nil || tx.t.isReadOnly() {
		return nil
	}
	tx.t.lent.Store(true)
	return tx.t.writer
}

// transaction is one attempt of a transaction, with the state that all attempts of
// a call share.
type transaction struct {
	db *DB
	scan.Transaction
	mu     sync.Mutex
	opened openPlaces

	operation *operation // to which it belongs; nil: that is not traced

	untouched bool              // that of a single operation, which has opened no place yet
	asked     bool              // whether metadata was started
	metadata  kv.Future[[]byte] // the read of the metadata version

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
	writer     kv.Transaction
	token      format.Token
	unsure     bool // an earlier attempt may have committed
	onlyReads  bool // that of a function of Transact that has written through no store
	conflicts  int  // attempts in a row, directly before, that conflicted
	writeLock  sync.Mutex
	fences     []leasefdb.FenceCheck // the checks of the DB's fences; nil: not started
	versions   ownVersions
	borrowed   bool        // the caller commits: see DB.In
	lent       atomic.Bool // the program has the engine's transaction, and may have set options
	seesWrites bool        // the transaction reads what it has written; writeLock guards it
	spoilMu    sync.Mutex
	spoiled    error    // why the attempt must not be committed; spoilMu guards it
	created    [][]byte // the keys of the records that this attempt created
	earlier    [][]byte // the keys of those that attempts created which may have committed, each once
}

// spoil makes the attempt fail, even if the function of the transaction goes on after the
// error: an operation that returned it has written a part of what it writes. Operations
// avoid this: they do all that can fail before they write. A caller that commits itself
// gets the code 1025; if the error is one to be retried, the caller has to return it.
func (t *transaction) spoil(err error) {
	t.spoilMu.Lock()
	t.spoiled = cmp.Or(t.spoiled, err)
	t.spoilMu.Unlock()
	if t.borrowed && !kv.IsRetryable(err) {
		t.writer.Cancel()
	}
}

// checkWhole returns an error if the attempt has a part of an operation only.
func (t *transaction) checkWhole() error {
	t.spoilMu.Lock()
	defer t.spoilMu.Unlock()
	if t.spoiled == nil {
		return nil
	}
	return fmt.Errorf("persistable: the transaction cannot be committed, because an operation in it failed when it had written a part: %w", t.spoiled)
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

// startAttempt drops the state of the attempt before, but for what it may have committed.
func (t *transaction) startAttempt(a kv.Attempt) {
	t.opened, t.asked = openPlaces{}, false
	t.fences = nil
	t.versions = ownVersions{}
	t.spoiled = nil
	if a.MaybeCommitted && a.Conflicts == 0 { // an attempt that conflicted has committed nothing
		t.earlier = append(t.earlier, t.created...)
		slices.SortFunc(t.earlier, bytes.Compare)
		t.earlier = slices.CompactFunc(t.earlier, bytes.Equal)
	}
	t.created = t.created[:0]
}

// committedEarlier reports whether an earlier attempt did commit: a record that it
// created is there and has the token of this call. Every attempt after one with an
// unknown outcome asks, whatever errors came in between.
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

// noteCreated notes the key of a record that this attempt creates. All are noted,
// because other transactions may delete some before committedEarlier looks.
func (t *transaction) noteCreated(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = append(t.created, slices.Clone(key))
}

// noteDeleted removes a key that noteCreated noted.
func (t *transaction) noteDeleted(key []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.created = slices.DeleteFunc(t.created, func(k []byte) bool { return bytes.Equal(k, key) })
}

// askForConflicts lets the engine report the keys on which the attempt conflicts, and
// tells the operation of those of the attempt before.
func (t *transaction) askForConflicts(ctx context.Context, a kv.Attempt) error {
	if !t.db.explainsConflicts() {
		return nil
	}
	if a.Conflicts > 0 {
		t.operation.noteConflict(t.conflictsBefore(ctx))
	}
	return t.writer.SetOption(kv.OptionReportConflictingKeys, 0)
}

// explain adds to a conflict's error what others have changed.
func (t *transaction) explain(err error) error {
	if err == nil || !t.db.explainsConflicts() {
		return err
	}
	last := lastError(err)
	if last == nil || last.Code != kv.CodeNotCommitted {
		return err
	}
	e := &ConflictError{Err: err}
	for _, r := range last.Conflicts {
		e.Conflicts = append(e.Conflicts, t.describeConflict(r))
	}
	t.operation.noteConflict(e.Conflicts)
	if len(e.Conflicts) == 0 {
		return err
	}
	return e
}

// startFences starts the checks of the DB's fences, once an attempt.
func (t *transaction) startFences() {
	if len(t.db.fences) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fences != nil {
		return
	}
	for _, f := range t.db.fences {
		t.fences = append(t.fences, f.StartCheck(t.writer))
	}
}

// awaitFences returns a *[FenceError] if one of the DB's fences does not hold.
func (t *transaction) awaitFences(ctx context.Context) error {
	if len(t.db.fences) == 0 {
		return nil
	}
	t.startFences()
	for _, f := range t.fences {
		if err := fenceError("", nil, f.Wait(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// FenceError says that a transaction was not committed, because this process may
// have lost the lease that the transaction needs: one given to [DB.Under], or that
// of the machine id of a new record's id. It wraps [leasefdb.ErrLeaseLost]. It is
// not retryable.
type FenceError struct {
	Type string // empty if no record is concerned
	ID   string // the id of the record as a tuple, for people; empty if none is
	Err  error  // why the fence does not hold
}

// Error implements error.
func (e *FenceError) Error() string {
	if e.Type == "" {
		return "persistable: the transaction is fenced off: " + e.Err.Error()
	}
	return fmt.Sprintf("persistable: %s %s is fenced off: %v: make a new id and create the record under it", e.Type, e.ID, e.Err)
}

// Unwrap returns the cause.
func (e *FenceError) Unwrap() error { return e.Err }

// fenceError makes a *FenceError of the error of a lost lease.
func fenceError(typ string, id []byte, err error) error {
	if !errors.Is(err, leasefdb.ErrLeaseLost) {
		return err
	}
	e := &FenceError{Type: typ, Err: err}
	if id != nil {
		e.ID = idText(id)
	}
	return e
}

// snapshot returns the transaction for reads that do not conflict.
func (t *transaction) snapshot() *transaction {
	return &transaction{db: t.db, Transaction: scan.Transaction{Reader: t.writer.Snapshot()}}
}
