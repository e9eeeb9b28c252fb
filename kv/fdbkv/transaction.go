// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"context"
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

// transaction implements [kv.Transaction]. Its calls of the client
// do not wait for one another: the client is safe for concurrent use.
type transaction struct {
	reader
	db      *Database               // nil: wrapped
	scoped  bool                    // a retry loop of this package releases it in any case
	current atomic.Pointer[attempt] // nil: the transaction has none of its own yet, see membership
	watches *futures
	over    atomic.Bool           // it was released, or see readOnlyTransaction
	reports atomic.Bool           // OptionReportConflictingKeys is set
	asked   kv.TransactionOptions // beyond the defaults that the client has of the database
	options clientOptions         // asked, as the client takes it
	version atomic.Int64          // of the last commit with a result that was taken, plus 1; 0: there is none

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
		t.watches = &futures{}
	} else {
		t.watches, t.asked, t.options = &db.watches, loadOf(db.defaults), db.load
	}
	return t
}

// beginAttempt begins the next attempt in a transaction of the client that is new or was
// reset.
func (t *transaction) beginAttempt(h *handle) *attempt {
	_ = t.options.set(h, true) // a handle that was destroyed says so in the next call
	return t.beginNext(h)
}

// beginNext begins the next attempt in a transaction of the client that has its options.
func (t *transaction) beginNext(h *handle) *attempt {
	a := newAttempt(h)
	h.written.Store(0)
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
	t.runOnOwn(func(a *attempt) { a.setReadVersion(version) })
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
	c := a.watch(key)
	if c == nil {
		return kv.Resolved(struct{}{}, newError(a.isDestroyed(), "watch"))
	}
	return awaitWatch(t.watches, c)
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
	return max(version, t.version.Load()-1), nil
}

// GetVersionstamp implements [kv.Transaction].
func (t *transaction) GetVersionstamp() kv.Future[[]byte] {
	a, err := t.usableAttempt()
	if err != nil {
		return kv.Resolved[[]byte](nil, err)
	}
	return await(a, a.versionstamp(), "GetVersionstamp", takeKey)
}

// attempt is what a transaction does between two resets. Its futures keep it alive,
// and with it the client's transaction. release frees the results that no caller
// took. Of an attempt that is never released, the collector does.
type attempt struct {
	*handle
	futures *futures
	results []concluder // by the slots of futures; the mu of futures guards it; nil: taken
	cleanup runtime.Cleanup
	group   *group // nil: handle belongs to this transaction alone
	place   int    // among the members of group; the mu of group guards it
}

// concluder is a result that may have to be taken from the client.
type concluder interface {
	// conclude takes the result if it has arrived. If final is set, a result that has
	// not is CodeTransactionCancelled, at once or when the client says so.
	conclude(final bool)
}

func newAttempt(h *handle) *attempt { return &attempt{handle: h, futures: &futures{}} }

// keep keeps a future until its result is taken, and reports false if the attempt was
// released.
func (a *attempt) keep(k keptFuture, r concluder) (slot int, ok bool) {
	s := a.futures
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return 0, false
	}
	slot = s.addLocked(k)
	if slot == len(a.results) {
		a.results = append(a.results, nil)
	}
	a.results[slot] = r
	return slot, true
}

// isUsed reports whether the attempt has read or written something.
func (a *attempt) isUsed() bool {
	a.futures.mu.Lock()
	defer a.futures.mu.Unlock()
	return len(a.results) > 0 || a.written.Load() > 0
}

// forget forgets a future, which the caller destroys.
func (a *attempt) forget(slot int) {
	a.futures.mu.Lock()
	defer a.futures.mu.Unlock()
	a.results[slot] = nil
	a.futures.removeLocked(slot)
}

// concludeAll concludes the results that no caller has taken.
func (a *attempt) concludeAll(final bool) {
	a.futures.mu.Lock()
	var left []concluder
	for _, r := range a.results {
		if r != nil {
			left = append(left, r)
		}
	}
	a.futures.mu.Unlock()
	for _, r := range left {
		r.conclude(final)
	}
}

// release ends the attempt: no read of it waits any more, and it holds nothing of the
// client but its handle.
func (a *attempt) release() {
	a.cleanup.Stop()
	a.concludeAll(false)
	a.futures.release()
	a.concludeAll(true)
	if a.group != nil {
		a.group.leave(a)
	}
}

// await returns the future of c; nil: the client was not asked.
func await[T any](a *attempt, c *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	return kv.NewFuture[T](newPendingResult(a, keptFuture{c: c}, what, take))
}

func newPendingResult[T any](a *attempt, k keptFuture, what string, take func(*cFuture) (T, cCode)) *pendingResult[T] {
	p := &pendingResult[T]{attempt: a, owner: a.futures, what: what, take: take}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beginLocked(k)
	return p
}

// awaitWatch returns a future that does not keep its transaction alive, and is
// freed when it is garbage.
func awaitWatch(owner *futures, c *cFuture) kv.Future[struct{}] {
	p := &pendingResult[struct{}]{owner: owner, slot: owner.add(keptFuture{c: c}), what: "watch", take: takeNothing, c: c}
	p.cleanup = runtime.AddCleanup(p, owner.destroyAbandoned, p.slot)
	return kv.NewFuture[struct{}](p)
}

// giveUpReads gives up the reads of an attempt that shares its handle.
func (a *attempt) giveUpReads() { a.futures.giveUp(errEnded) }

// repeatReads makes the attempt's reads again, at the attempt's version, in a new
// transaction of the client: at once those that ran at once. What a read leaves in the
// client's cache may change the conflict range of a later one. The new futures belong to
// the attempt, so repeatReads stops waiting for them when the attempt ends.
func (a *attempt) repeatReads(h *handle, reads []sharedRead) error {
	version, err := awaitShared(a, (*handle).readVersion, "GetReadVersion", takeNumber).Get(context.Background())
	if err != nil {
		return err
	}
	h.setReadVersion(version)
	var running []kv.Future[struct{}]
	for _, read := range reads {
		if read.alone {
			if err := awaitRepeated(running); err != nil {
				return err
			}
			running = nil
		}
		running = append(running, await(a, read.call(h, read.snapshot), "repeating a read", takeNothing))
	}
	return awaitRepeated(running)
}

func awaitRepeated(running []kv.Future[struct{}]) error {
	for _, again := range running {
		if _, err := again.Get(context.Background()); err != nil && !isRefusal(err) {
			return err
		}
	}
	return nil
}

// metadataVersion reads the metadata version of the attempt's group.
func (a *attempt) metadataVersion() kv.Future[[]byte] {
	p := kv.NewPromise[[]byte]()
	if !a.group.awaitMetadata(a, p) {
		return kv.Resolved(a.group.metadataVersion())
	}
	return p.Future()
}
