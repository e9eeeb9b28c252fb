// SPDX-License-Identifier: Apache-2.0

package kv

import "context"

// ReadTransactor runs read-only functions in transactions.
type ReadTransactor interface {
	// ReadTransact runs fn with a transaction and runs it again after a
	// retryable error. Reads see one version; nothing is committed. If three
	// attempts last longer than MaxTransactionAge, five seconds, the error is a
	// *RetryError: read less at once. If ctx has ended already, fn is not run.
	// Called on a [Transaction], it runs fn once, in that transaction.
	ReadTransact(ctx context.Context, fn func(ReadTransaction) error) error
}

// Transactor runs functions in transactions. Both [Database] and [Transaction]
// are Transactors, so a layer written against it composes: given a Database it
// commits by itself, given a Transaction it becomes a part of it.
type Transactor interface {
	ReadTransactor

	// Transact runs fn in a transaction and commits it. After a retryable error,
	// from fn or from the commit, it waits (exponential back-off with jitter)
	// and runs fn again, so fn must have no effect outside the transaction.
	// Any other error of fn cancels the transaction and is returned.
	//
	// An attempt that lasts longer than MaxTransactionAge, five seconds, cannot
	// commit: fn must do less. If three attempts end so, or a thousand in a row
	// by conflicts, the error is a *RetryError.
	//
	// ctx's deadline becomes the transaction's timeout and its end cancels the
	// transaction. If it has ended already, fn is not run. If it ends while a
	// commit is under way, the error wraps ErrOutcomeUnknown and ctx's error.
	//
	// Called on a Transaction, Transact runs fn once, in that transaction, and
	// commits nothing: retry and commit belong to whoever opened it.
	Transact(ctx context.Context, fn func(Transaction) error) error
}

// Database is an open engine. It is safe for concurrent use.
type Database interface {
	Transactor

	// Begin returns a new transaction. Its read version is fixed by its first
	// read. A transaction that is given up without Commit must be cancelled.
	// Begin fails with ErrClosed after Close.
	Begin() (Transaction, error)

	// Close releases the engine. Transactions in flight fail with ErrClosed or
	// finish; a commit that was acknowledged stays.
	Close() error
}

// ReadTransaction reads one version of the database. All reads start at once
// and return futures.
type ReadTransaction interface {
	ReadTransactor

	// Get reads the value of key: nil if absent, not nil if present and empty.
	Get(key []byte) Future[[]byte]

	// GetKey resolves a selector. Beyond the first key it is empty, beyond the
	// last key "\xff".
	GetKey(sel KeySelector) Future[[]byte]

	// GetRange reads the pairs of a range in key order, in batches.
	GetRange(r SelectorRange, o RangeOptions) RangeResult

	// GetReadVersion returns the version that the transaction reads, fixing it
	// if this is the first read.
	GetReadVersion() Future[int64]

	// GetEstimatedRangeSizeBytes estimates how many bytes the keys and values of a
	// range have. It neither depends on the read version nor sees the
	// transaction's own writes, and cannot conflict. The engine counts a sample in
	// which large pairs are more likely: an estimate above 3 MB is good to about a
	// tenth, while that of a small range may be 0. Fails with CodeInvertedRange.
	GetEstimatedRangeSizeBytes(r KeyRange) Future[int64]

	// GetRangeSplitPoints returns keys that divide a range into parts of about
	// chunkSize bytes, by the same sample: in order, the first one r.Begin and
	// the last one r.End. So a large range can be read by several transactions.
	// Fails with CodeInvertedRange, with CodeClientInvalidOperation for a chunkSize
	// below 1, and with CodeKeyOutsideLegalRange beyond what may be read.
	GetRangeSplitPoints(r KeyRange, chunkSize int64) Future[[][]byte]

	// Snapshot returns a view whose reads add no read conflict ranges. They see
	// the same version, and the transaction's own writes.
	Snapshot() ReadTransaction
}

// Transaction is a transaction in progress. Writes take effect at Commit;
// their faults (limits, illegal keys) are reported there at the latest.
type Transaction interface {
	ReadTransaction
	Transactor

	// Set writes a pair.
	Set(key, value []byte)
	// Clear removes a key; absent keys may be cleared.
	Clear(key []byte)
	// ClearRange removes all keys of the range.
	ClearRange(r KeyRange)
	// Atomic applies an atomic operation to key's value at commit. For
	// SetVersionstampedKey and SetVersionstampedValue see [MutationType].
	Atomic(op MutationType, key, operand []byte)

	// AddReadConflictRange makes the transaction conflict as if it had read r.
	AddReadConflictRange(r KeyRange) error
	// AddReadConflictKey makes the transaction conflict as if it had read key.
	AddReadConflictKey(key []byte) error
	// AddWriteConflictRange makes others conflict as if the transaction had written r.
	AddWriteConflictRange(r KeyRange) error
	// AddWriteConflictKey makes others conflict as if the transaction had written key.
	AddWriteConflictKey(key []byte) error

	// Watch returns a future that becomes ready after key's value changes from
	// what this transaction sees. It reads the key: in a transaction that writes,
	// a change before the commit is a conflict. It is armed by the commit and
	// outlives the transaction; it may fire without a change and may miss a
	// change that is undone. If the commit fails the watch fails with the same
	// error, and with CodeTransactionCancelled if the transaction is reset before
	// it; of a transaction that is only cancelled it may never become ready.
	// Cancel it when it is no longer needed.
	Watch(key []byte) Future[struct{}]

	// SetReadVersion fixes the read version, before the first read.
	SetReadVersion(version int64)
	// SetOption sets an option; arg is used by the options that take one. An
	// argument out of range may be reported by the next call instead.
	SetOption(o Option, arg int64) error

	// GetApproximateSize returns the bytes that the transaction has gathered so
	// far against MaxTransactionSize, conflict ranges included. A range read
	// counts one for each batch, and where it is cut may depend on what else the
	// engine holds if its end selects a key more than some twenty places behind
	// all keys.
	GetApproximateSize() Future[int64]
	// GetCommittedVersion returns the version of the last commit; -1 for a
	// read-only transaction and before the commit.
	GetCommittedVersion() (int64, error)
	// GetVersionstamp returns the ten-byte versionstamp that SetVersionstamped
	// writes of this transaction carry. It must be called before the commit and
	// becomes ready after it.
	GetVersionstamp() Future[[]byte]

	// Commit makes the writes durable and visible, all or none, and waits for
	// that. If ctx ends first the error wraps ErrOutcomeUnknown.
	Commit(ctx context.Context) error
	// CommitAsync starts the commit.
	CommitAsync() Future[struct{}]
	// OnError decides what follows err. If it is retryable, OnError waits the
	// back-off, resets the transaction (options that limit retries stay) and
	// returns nil. Otherwise it returns err.
	OnError(ctx context.Context, err error) error
	// Reset makes the transaction as new. Futures not ready are cancelled.
	Reset()
	// Cancel gives the transaction up. All its calls fail with
	// CodeTransactionCancelled until Reset.
	Cancel()
}

// ConflictRanger is implemented by transactions that can show their conflict
// ranges (FoundationDB's \xff\xff/transaction/ keys). It explains conflicts in
// tools, logs and tests. The transactions of every engine of this module
// implement it.
type ConflictRanger interface {
	// ConflictRanges returns the conflict ranges gathered so far, in order and
	// merged.
	ConflictRanges(ctx context.Context) (read, write []KeyRange, err error)

	// ConflictingKeys returns which of the read conflict ranges others had
	// written to when the last commit with [OptionReportConflictingKeys] failed
	// with CodeNotCommitted, in order and merged; nil if none has. At least one
	// range is told; one that only a commit of the same moment wrote to may be
	// missing beside others. The ranges stay after OnError and Reset, so that the
	// next attempt of a retry loop can read them, until another commit with the
	// option fails so.
	ConflictingKeys(ctx context.Context) ([]KeyRange, error)
}

// Transact runs fn like [Transactor.Transact] and returns its value.
func Transact[T any](ctx context.Context, t Transactor, fn func(Transaction) (T, error)) (T, error) {
	var result T
	err := t.Transact(ctx, func(tx Transaction) (err error) {
		result, err = fn(tx)
		return err
	})
	return orZero(result, err)
}

// ReadTransact runs fn like [ReadTransactor.ReadTransact] and returns its value.
func ReadTransact[T any](ctx context.Context, t ReadTransactor, fn func(ReadTransaction) (T, error)) (T, error) {
	var result T
	err := t.ReadTransact(ctx, func(tx ReadTransaction) (err error) {
		result, err = fn(tx)
		return err
	})
	return orZero(result, err)
}

func orZero[T any](v T, err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}
