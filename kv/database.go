// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"context"
	"encoding/binary"
	"time"
)

// ReadTransactor runs read-only functions in transactions.
type ReadTransactor interface {
	// ReadTransact runs fn with a transaction and runs it again after a
	// retryable error. Reads see one version; nothing is committed. If three
	// attempts in a row last longer than MaxTransactionAge, five seconds, the error
	// is a *RetryError: read less in one call. If ctx has already ended, fn is not run.
	// Called on a [Transaction], it runs fn once, in that transaction.
	ReadTransact(ctx context.Context, fn func(ReadTransaction) error) error
}

// Transactor runs functions in transactions. Both [Database] and [Transaction]
// are Transactors, so layers compose: a layer's call commits by itself on a
// Database, and is a part of the caller's transaction on a Transaction.
type Transactor interface {
	ReadTransactor

	// Transact runs fn in a transaction and commits it. After a retryable error,
	// from fn or from the commit, it waits (exponential back-off with jitter)
	// and runs fn again, so fn must have no effect outside the transaction.
	// Any other error of fn cancels the transaction and is returned; after an attempt
	// that may have committed (1021) it also wraps ErrOutcomeUnknown.
	//
	// An attempt that lasts longer than MaxTransactionAge, five seconds, cannot
	// commit: fn must do less. After three such attempts in a row, or a thousand
	// conflicts in a row, the error is a *RetryError.
	//
	// When ctx ends, the transaction is cancelled. If ctx has already ended, fn is
	// not run. If it ends during the commit, the error wraps ErrOutcomeUnknown and
	// ctx's error.
	//
	// Called on a Transaction, Transact runs fn once, in that transaction, and
	// commits nothing: the function that began the transaction retries and commits.
	Transact(ctx context.Context, fn func(Transaction) error) error
}

// Database is an open engine. It is safe for concurrent use.
type Database interface {
	Transactor

	// Begin returns a new transaction. Its read version is fixed by its first
	// read. The caller must cancel a transaction that it does not commit. A caller
	// that no longer needs the transaction calls [Transaction.Release], as [Retry] does.
	// Begin fails with ErrClosed after Close.
	Begin() (Transaction, error)

	// Close releases the engine. Transactions under way fail with ErrClosed or
	// finish; acknowledged commits stay.
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

	// GetReadVersion returns the version that the transaction reads. As a first
	// read it fixes that version.
	GetReadVersion() Future[int64]

	// GetEstimatedRangeSizeBytes estimates how many bytes the keys and values of a
	// range have. It ignores the read version and the transaction's own writes, and
	// cannot conflict. The engine counts a sample in which large pairs are more
	// likely: an estimate above 3 MB is about 10 % off, one of a small range may be
	// 0. Fails with CodeInvertedRange.
	GetEstimatedRangeSizeBytes(r KeyRange) Future[int64]

	// GetRangeSplitPoints returns keys that divide a range into parts of about
	// chunkSize bytes, by the same sample: in order, the first one r.Begin and
	// the last one r.End. Several transactions can then read a large range.
	// Fails with CodeInvertedRange, with CodeClientInvalidOperation for a chunkSize
	// below 1, and with CodeKeyOutsideLegalRange for keys that it may not read.
	GetRangeSplitPoints(r KeyRange, chunkSize int64) Future[[][]byte]

	// Snapshot returns a view with reads that add no read conflict ranges. They see
	// the same version, and the transaction's own writes.
	Snapshot() ReadTransaction

	// SetOptions sets the options of o that are not zero, for all attempts of the transaction:
	// see [TransactionOptions.With]. Reset keeps them, too. Call it first: where it replaces a
	// priority or an identifier, a cluster's client forgets what SetOption and SetReadVersion
	// have set. After the attempt's first read or write it fails with
	// CodeClientInvalidOperation. [With] calls it for each transaction of a database.
	SetOptions(o TransactionOptions) error
}

// Transaction is a transaction in progress. Writes take effect at Commit, which
// also reports faults of writes (limits, illegal keys) that were not reported before.
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
	// AddWriteConflictRange makes readers of r conflict as if the transaction had written r.
	AddWriteConflictRange(r KeyRange) error
	// AddWriteConflictKey makes readers of key conflict as if the transaction had written it.
	AddWriteConflictKey(key []byte) error

	// Watch returns a future that becomes ready after key's value changes from
	// what this transaction sees. It reads the key: in a transaction that writes,
	// a change before the commit is a conflict. The commit arms it, and it outlives
	// the transaction. It may fire without a change and may miss a change that is
	// undone. If the commit fails, the watch fails with the same error. If the
	// transaction is reset before its commit, the watch fails with
	// CodeTransactionCancelled; if it is only cancelled, the watch may never become
	// ready. Cancel it when it is no longer needed.
	Watch(key []byte) Future[struct{}]

	// SetReadVersion fixes the read version, before the first read.
	SetReadVersion(version int64)
	// SetOption sets an option; arg is used by the options that take one. An
	// argument out of range may be reported by the next call instead.
	SetOption(o Option, arg int64) error

	// GetApproximateSize returns how many bytes of MaxTransactionSize the
	// transaction uses so far, conflict ranges included. A range read adds one
	// conflict range for each batch. If the range's end selector points more than
	// about twenty keys after the last key, the size of batches may depend on
	// the engine's other contents.
	GetApproximateSize() Future[int64]
	// GetCommittedVersion returns the version of the last commit; -1 for a
	// read-only transaction and before the commit.
	GetCommittedVersion() (int64, error)
	// GetVersionstamp returns the ten-byte versionstamp that this transaction's writes
	// by SetVersionstampedKey and SetVersionstampedValue carry. It must be called before
	// the commit, and becomes ready after it.
	GetVersionstamp() Future[[]byte]

	// Commit makes the writes durable and visible, all or none, and waits for
	// that. If ctx ends first, or the transaction's time limit during the commit
	// (CodeTransactionTimedOut), the error wraps ErrOutcomeUnknown.
	Commit(ctx context.Context) error
	// CommitAsync starts the commit.
	CommitAsync() Future[struct{}]
	// OnError prepares another attempt after a retryable err: it waits the
	// back-off, resets the transaction (options that limit retries stay) and
	// returns nil. It returns any other err.
	OnError(ctx context.Context, err error) error
	// Reset makes the transaction as new and cancels futures that are not ready.
	Reset()
	// Cancel ends the transaction. All its calls fail with
	// CodeTransactionCancelled until Reset. So does the future of a commit that is under
	// way, which may happen all the same: only the program that has called Cancel, Reset
	// or Release knows that this code leaves the outcome open.
	Cancel()
	// Release says that the transaction is no longer needed. An engine with memory that
	// Go's garbage collector does not see, such as that of FoundationDB's client, cancels
	// the transaction and frees its memory at once; others need not do anything. Results of
	// its futures that have arrived, its watches and GetCommittedVersion remain. Every other
	// call must wait for Reset: it may fail with CodeTransactionCancelled.
	Release()

	// ConflictRanges returns the conflict ranges gathered so far (FoundationDB's
	// \xff\xff/transaction/ keys), in order and merged. It explains conflicts in tools,
	// logs and tests.
	ConflictRanges(ctx context.Context) (read, write []KeyRange, err error)

	// ConflictingKeys returns the read conflict ranges that made the last commit
	// with [OptionReportConflictingKeys] fail with CodeNotCommitted, in order and
	// merged; nil if no commit failed so. There is at least one. A range
	// may be missing if only a concurrent commit of the same batch wrote to it.
	// OnError and Reset keep the ranges, so that the next attempt of a retry loop
	// can read them; the next such failure replaces them.
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

// The limits of FoundationDB 7.3, enforced by every engine with the error
// codes named here.
const (
	MaxKeySize         = 10_000          // bytes of a key; beyond it CodeKeyTooLarge
	MaxValueSize       = 100_000         // bytes of a value; beyond it CodeValueTooLarge
	MaxTransactionSize = 10_000_000      // bytes of keys, values and conflict ranges; beyond it CodeTransactionTooLarge
	MaxTransactionAge  = 5 * time.Second // from read version to last read or commit; beyond it CodeTransactionTooOld
	MaxWatches         = 10_000          // outstanding watches of one Database; beyond it CodeTooManyWatches
	VersionstampSize   = 10              // bytes of a transaction's versionstamp: 8 version + 2 batch order, big endian
	VersionsPerSecond  = 1_000_000       // about how fast versions advance
)

// MetadataVersionKey is the one system key that ordinary transactions may use.
// Its value is a versionstamp, written with [SetVersionstampedValue] only
// (with 14 zero bytes as operand). It arrives with the read version:
// reading it costs no round trip, so caches of rarely changed data are
// validated by it.
const MetadataVersionKey = "\xff/metadataVersion"

// MutationType is an atomic operation: the commit computes the new value from the
// stored one. The transaction does not read the value and so has no read conflict.
// The numbers are FoundationDB's. Arithmetic is little-endian; a stored value is
// first cut or zero-extended to the operand's length.
type MutationType int

// The atomic operations.
const (
	// Add adds the operand. An absent value counts as zero.
	Add MutationType = 2
	// BitAnd ands the operand. An absent value becomes the operand.
	BitAnd MutationType = 6
	// BitOr ors the operand. An absent value counts as zero.
	BitOr MutationType = 7
	// BitXor xors the operand. An absent value counts as zero.
	BitXor MutationType = 8
	// AppendIfFits appends the operand, or does nothing if the result would pass MaxValueSize.
	AppendIfFits MutationType = 9
	// Max keeps the larger number. An absent value becomes the operand.
	Max MutationType = 12
	// Min keeps the smaller number. An absent value becomes the operand.
	Min MutationType = 13
	// SetVersionstampedKey sets a pair and puts the transaction's versionstamp into its key. The key's
	// last four bytes, little-endian, are the offset of the stamp's ten bytes; they are cut off.
	SetVersionstampedKey MutationType = 14
	// SetVersionstampedValue puts the versionstamp into the value; its last four bytes are the offset.
	SetVersionstampedValue MutationType = 15
	// ByteMin keeps the lexicographically smaller value. An absent value becomes the operand.
	ByteMin MutationType = 16
	// ByteMax keeps the lexicographically larger value. An absent value becomes the operand.
	ByteMax MutationType = 17
	// CompareAndClear clears the key if its value equals the operand.
	CompareAndClear MutationType = 20
)

// Int64 returns n as eight little-endian bytes: an operand for [Add], [Max] and [Min].
func Int64(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
