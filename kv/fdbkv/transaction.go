// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// transaction implements [kv.Transaction]. Its calls of the client
// do not wait for one another: the client is safe for concurrent use.
type transaction struct {
	reader
	db       *Database               // nil: wrapped
	scoped   bool                    // a retry loop of this package releases it in any case
	share    bool                    // it may gather with others to read: see membership
	current  atomic.Pointer[attempt] // nil: the transaction has none of its own yet, see membership
	watches  *futures
	versions *versionCache         // of db; of a wrapped transaction, one that is not used
	over     atomic.Bool           // it was released, or see readOnlyTransaction
	reports  atomic.Bool           // OptionReportConflictingKeys is set
	asked    kv.TransactionOptions // beyond the defaults that the client has of the database
	options  clientOptions         // asked, as the client takes it
	version  atomic.Int64          // of the last commit with a result that was taken, plus 1; 0: there is none

	leftMu sync.Mutex
	left   []*attempt // earlier ones, of which Release frees what no caller has taken

	membership
}

// readOnlyTransaction is a transaction that a retry loop only reads in. At its end there is
// mostly nothing to cancel: then the client is not asked to.
type readOnlyTransaction struct{ *transaction }

// Cancel implements [kv.Transaction].
func (r readOnlyTransaction) Cancel() {
	r.over.Store(true)
	if a := r.shared.Load(); a != nil && a.futures.hasOutstanding() {
		a.giveUpReads()
	}
	if a := r.current.Load(); a != nil && a.futures.hasOutstanding() {
		a.cancel()
	}
}

var _ kv.Transaction = (*transaction)(nil)

// newTransaction returns a transaction that has no transaction of the client yet.
func newTransaction(db *Database, scoped bool) *transaction {
	t := &transaction{db: db, scoped: scoped}
	t.reader = reader{t: t}
	if db == nil {
		t.watches, t.versions = &futures{}, &versionCache{}
	} else {
		t.versions = &db.versions
		t.watches, t.asked, t.options = &db.watches, loadOf(db.defaults), db.load
	}
	return t
}

// beginAttempt begins the next attempt in a transaction of the client that is new or was
// reset.
func (t *transaction) beginAttempt(a *attempt) *attempt {
	_ = t.options.set(a.handle, true) // a handle that was destroyed says so in the next call
	return t.beginNext(a)
}

// beginNext begins the next attempt in a transaction of the client that has its options.
func (t *transaction) beginNext(a *attempt) *attempt {
	a.written.Store(0)
	t.db.trackAttempt(a, t.scoped)
	t.reports.Store(t.db != nil && (t.db.defaults.ReportConflictingKeys || t.asked.ReportConflictingKeys))
	if before := t.current.Swap(a); before != nil {
		t.db.untrack(before.futures)
		t.leave(before)
	}
	return a
}

// leave leaves an attempt. The client says what becomes of results that have not
// arrived.
func (t *transaction) leave(a *attempt) {
	a.concludeAll(false)
	if t.scoped && a.futures.hasOutstanding() {
		t.leftMu.Lock()
		defer t.leftMu.Unlock()
		t.left = append(t.left, a)
	}
}

// Release implements [kv.Transaction].
func (t *transaction) Release() {
	if t.db == nil {
		return // the code that made it decides
	}
	t.over.Store(true)
	if shared := t.shared.Load(); shared != nil {
		shared.giveUpReads() // ownAttempt may wait for one
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseLocked()
}

// releaseLocked frees what the transaction has of the client. t.mu is held.
func (t *transaction) releaseLocked() {
	if shared := t.shared.Load(); shared != nil {
		t.db.untrack(shared.futures)
		shared.release()
	}
	if own := t.current.Load(); own != nil {
		t.db.awaitClient(own)
		own.concludeAll(false) // a commit's version is asked for when its result is taken
		own.destroy(kv.CodeTransactionCancelled)
		t.db.untrack(own.futures)
		own.release()
	}
	t.leftMu.Lock()
	defer t.leftMu.Unlock()
	for _, a := range t.left {
		a.release()
	}
	t.left = nil
}

// usableAttempt returns the transaction's own attempt, or an error if the database is
// closed.
func (t *transaction) usableAttempt() (*attempt, error) {
	if err := t.endError(); err != nil {
		return nil, err
	}
	return t.ownAttempt()
}

// endError returns the error of all calls, or nil.
func (t *transaction) endError() error {
	if t.db != nil && t.db.closed.Load() {
		return kv.ErrClosed
	}
	if t.over.Load() {
		return newError(kv.CodeTransactionCancelled, "a call after the end of the transaction")
	}
	return nil
}

// runOnOwn calls do with the transaction's own attempt. If there is none, a later
// call returns the reason.
func (t *transaction) runOnOwn(do func(*attempt)) {
	if a, err := t.ownAttempt(); err == nil {
		do(a)
	}
}

// Transact implements [kv.Transactor]: fn becomes a part of this transaction.
func (t *transaction) Transact(_ context.Context, fn func(kv.Transaction) error) error { return fn(t) }

// ReadTransact implements [kv.ReadTransactor].
func (t *transaction) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// Snapshot implements [kv.ReadTransaction].
func (t *transaction) Snapshot() kv.ReadTransaction { return snapshot{reader{t: t, snapshot: true}} }

// Set implements [kv.Transaction].
func (t *transaction) Set(key, value []byte) {
	t.runOnOwn(func(a *attempt) { a.set(key, value) })
}

// Clear implements [kv.Transaction].
func (t *transaction) Clear(key []byte) { t.runOnOwn(func(a *attempt) { a.clear(key) }) }

// ClearRange implements [kv.Transaction].
func (t *transaction) ClearRange(r kv.KeyRange) { t.runOnOwn(func(a *attempt) { a.clearRange(r) }) }

// Atomic implements [kv.Transaction].
func (t *transaction) Atomic(op kv.MutationType, key, operand []byte) {
	t.runOnOwn(func(a *attempt) { a.atomic(op, key, operand) })
}

// AddReadConflictRange implements [kv.Transaction].
func (t *transaction) AddReadConflictRange(r kv.KeyRange) error { return t.addConflict(r, false) }

// AddReadConflictKey implements [kv.Transaction].
func (t *transaction) AddReadConflictKey(key []byte) error {
	return t.addConflict(kv.KeyRange{Begin: key, End: kv.Successor(key)}, false)
}

// AddWriteConflictRange implements [kv.Transaction].
func (t *transaction) AddWriteConflictRange(r kv.KeyRange) error { return t.addConflict(r, true) }

// AddWriteConflictKey implements [kv.Transaction].
func (t *transaction) AddWriteConflictKey(key []byte) error {
	return t.addConflict(kv.KeyRange{Begin: key, End: kv.Successor(key)}, true)
}

func (t *transaction) addConflict(r kv.KeyRange, write bool) error {
	a, err := t.ownAttempt()
	if err != nil {
		return err
	}
	return codeError(a.addConflict(r, write), "adding a conflict range")
}

// SetReadVersion implements [kv.Transaction].
func (t *transaction) SetReadVersion(version int64) {
	t.runOnOwn(func(a *attempt) {
		a.version.set()
		a.setReadVersion(version)
	})
}

// SetOption implements [kv.Transaction].
func (t *transaction) SetOption(o kv.Option, arg int64) error {
	var value []byte
	switch o {
	case kv.OptionTimeout, kv.OptionRetryLimit, kv.OptionMaxRetryDelay, kv.OptionSizeLimit:
		value = binary.LittleEndian.AppendUint64(make([]byte, 0, 8), uint64(arg))
	}
	a, err := t.ownAttempt()
	if err != nil {
		return err
	}
	if code := a.setOption(o, value); code != 0 {
		return newError(kv.Code(code), optionText(o, arg))
	}
	if o == kv.OptionCausalReadRisky {
		a.version.leave() // its version may be older than the time at which it is asked for
	}
	if o == kv.OptionReportConflictingKeys {
		t.reports.Store(true)
	}
	return nil
}

// Watch implements [kv.Transaction].
func (t *transaction) Watch(key []byte) kv.Future[struct{}] {
	a, err := t.usableAttempt()
	if err != nil {
		return kv.Resolved(struct{}{}, err)
	}
	if t.mayBeWeak() {
		t.fix(a)
	}
	a.watches.Store(true)
	c := a.watch(key)
	if c == nil {
		return kv.Resolved(struct{}{}, newError(a.isDestroyed(), "watch"))
	}
	return awaitWatch(t.watches, c, t.versions)
}

// GetApproximateSize implements [kv.Transaction].
func (t *transaction) GetApproximateSize() kv.Future[int64] {
	a, err := t.usableAttempt()
	if err != nil {
		return kv.Resolved(int64(0), err)
	}
	return await(a, a.approximateSize(), "GetApproximateSize", takeNumber)
}

// GetCommittedVersion implements [kv.Transaction].
func (t *transaction) GetCommittedVersion() (int64, error) {
	a, err := t.ownAttempt()
	if err != nil {
		return 0, err
	}
	version, code := a.committedVersion()
	if code != 0 {
		return 0, newError(kv.Code(code), "GetCommittedVersion")
	}
	version = max(version, t.version.Load()-1)
	t.versions.note(version, time.Time{})
	return version, nil
}

// GetVersionstamp implements [kv.Transaction].
func (t *transaction) GetVersionstamp() kv.Future[[]byte] {
	a, err := t.usableAttempt()
	if err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	return await(a, a.versionstamp(), "GetVersionstamp", t.takeVersionstamp)
}
