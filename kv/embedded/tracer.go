// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// Tracer is told what transactions read and write, and what they wait for: it
// shows which reads make a transaction slow, and which keys make it conflict. Set
// it in [Options]. A nil function is not called.
//
// The functions are called in the goroutines that use the transactions, several at
// a time, with none of the engine's locks held. The transaction goes on when they
// return. They must neither use the transaction nor modify or keep the keys that
// they are given.
//
// A database without a Tracer does nothing for it: the transactions of one with a
// Tracer are wrapped.
type Tracer struct {
	// Read is called when the program has got the result of Get or GetKey, or of a
	// batch of GetRange. It is not called for a result that the program never asks
	// for.
	Read func(ReadTrace)

	// Write is called after Set, Clear, ClearRange and Atomic.
	Write func(WriteTrace)

	// Commit is called when the program has got the outcome of a commit.
	Commit func(CommitTrace)

	// Retry is called when OnError has waited, or has refused another attempt.
	Retry func(RetryTrace)
}

// AttemptID names an attempt of a transaction.
type AttemptID struct {
	Transaction uint64 // from 1 on, in the order in which transactions began
	Attempt     int    // from 1 on; OnError and Reset begin the next one
}

// ReadTrace is a read that has ended.
type ReadTrace struct {
	AttemptID
	Method   string // Get, GetKey or GetRange
	Snapshot bool

	// Range is what was asked for: of Get and GetKey only Begin is set, of a batch of
	// GetRange what the batches before it have left.
	Range kv.SelectorRange

	Pairs int           // how many were read
	Bytes int           // of their keys and values
	Wait  time.Duration // how long the program waited for the result in Future.Get
	Err   error
}

// WriteTrace is a write. It takes effect when the transaction commits.
type WriteTrace struct {
	AttemptID
	Method string      // Set, Clear, ClearRange or Atomic
	Keys   kv.KeyRange // of a single key: from it to its successor
	Bytes  int         // of the value or operand
}

// CommitTrace is a commit that has ended.
type CommitTrace struct {
	AttemptID
	Reads   []kv.KeyRange // the read conflict ranges, in order and merged
	Writes  []kv.KeyRange // the write conflict ranges
	Version int64         // -1 if nothing was committed
	Wait    time.Duration // how long the program waited for the outcome
	Err     error

	// Conflicts are the ranges of Reads that others have written, if the transaction
	// has kv.OptionReportConflictingKeys and Err has CodeNotCommitted.
	Conflicts []kv.KeyRange
}

// RetryTrace is a call of OnError that has ended.
type RetryTrace struct {
	AttemptID               // that has failed
	Cause     error         // what it failed with
	Wait      time.Duration // how long OnError waited
	Err       error         // of OnError; nil: another attempt begins
}

// tracerTransaction is a transaction that reports its calls to a tracer.
type tracerTransaction struct {
	kv.Transaction
	tracer  *Tracer
	number  uint64
	attempt atomic.Int64
}

var (
	_ kv.Transaction    = (*tracerTransaction)(nil)
	_ kv.ConflictRanger = (*tracerTransaction)(nil)
)

func (t *tracerTransaction) id() AttemptID { return AttemptID{t.number, int(t.attempt.Load())} }

// Transact implements [kv.Transactor].
func (t *tracerTransaction) Transact(_ context.Context, fn func(kv.Transaction) error) error {
	return fn(t)
}

// ReadTransact implements [kv.ReadTransactor].
func (t *tracerTransaction) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(t)
}

// Get implements [kv.ReadTransaction].
func (t *tracerTransaction) Get(key []byte) kv.Future[[]byte] {
	return t.traceGet(key, t.Transaction.Get(key), false)
}

// GetKey implements [kv.ReadTransaction].
func (t *tracerTransaction) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return t.traceGetKey(sel, t.Transaction.GetKey(sel), false)
}

// GetRange implements [kv.ReadTransaction].
func (t *tracerTransaction) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return t.traceGetRange(t.Transaction.GetRange(r, o), false)
}

// Snapshot implements [kv.ReadTransaction].
func (t *tracerTransaction) Snapshot() kv.ReadTransaction {
	return tracerSnapshot{t.Transaction.Snapshot(), t}
}

// Set implements [kv.Transaction].
func (t *tracerTransaction) Set(key, value []byte) {
	t.Transaction.Set(key, value)
	t.traceWrite("Set", kv.KeyRange{Begin: key, End: kv.Successor(key)}, len(value))
}

// Clear implements [kv.Transaction].
func (t *tracerTransaction) Clear(key []byte) {
	t.Transaction.Clear(key)
	t.traceWrite("Clear", kv.KeyRange{Begin: key, End: kv.Successor(key)}, 0)
}

// ClearRange implements [kv.Transaction].
func (t *tracerTransaction) ClearRange(r kv.KeyRange) {
	t.Transaction.ClearRange(r)
	t.traceWrite("ClearRange", r, 0)
}

// Atomic implements [kv.Transaction].
func (t *tracerTransaction) Atomic(op kv.MutationType, key, operand []byte) {
	t.Transaction.Atomic(op, key, operand)
	t.traceWrite("Atomic", kv.KeyRange{Begin: key, End: kv.Successor(key)}, len(operand))
}

func (t *tracerTransaction) traceWrite(method string, keys kv.KeyRange, bytes int) {
	if t.tracer.Write != nil {
		t.tracer.Write(WriteTrace{AttemptID: t.id(), Method: method, Keys: keys, Bytes: bytes})
	}
}

// Commit implements [kv.Transaction].
func (t *tracerTransaction) Commit(ctx context.Context) error {
	return kv.AwaitCommit(ctx, t.CommitAsync())
}

// CommitAsync implements [kv.Transaction].
func (t *tracerTransaction) CommitAsync() kv.Future[struct{}] {
	id := t.id()
	return traceFuture(t.Transaction.CommitAsync(), func(_ struct{}, err error, wait time.Duration) {
		t.traceCommit(CommitTrace{AttemptID: id, Version: -1, Wait: wait, Err: err})
	})
}

// traceCommit adds the conflict ranges to a trace, and tells it.
func (t *tracerTransaction) traceCommit(c CommitTrace) {
	if t.tracer.Commit == nil {
		return
	}
	ctx := context.Background()
	if reads, writes, err := t.ConflictRanges(ctx); err == nil {
		c.Reads, c.Writes = reads, writes
	}
	if version, err := t.GetCommittedVersion(); err == nil && c.Err == nil {
		c.Version = version
	}
	if kv.CodeOf(c.Err) == kv.CodeNotCommitted {
		c.Conflicts, _ = t.ConflictingKeys(ctx)
	}
	t.tracer.Commit(c)
}

// OnError implements [kv.Transaction].
func (t *tracerTransaction) OnError(ctx context.Context, cause error) error {
	id, began := t.id(), time.Now()
	err := t.Transaction.OnError(ctx, cause)
	if err == nil {
		t.attempt.Add(1)
	}
	if t.tracer.Retry != nil {
		t.tracer.Retry(RetryTrace{AttemptID: id, Cause: cause, Wait: time.Since(began), Err: err})
	}
	return err
}

// Reset implements [kv.Transaction].
func (t *tracerTransaction) Reset() {
	t.Transaction.Reset()
	t.attempt.Add(1)
}

// ConflictRanges implements [kv.ConflictRanger].
func (t *tracerTransaction) ConflictRanges(ctx context.Context) (read, write []kv.KeyRange, err error) {
	return t.Transaction.(kv.ConflictRanger).ConflictRanges(ctx)
}

// ConflictingKeys implements [kv.ConflictRanger].
func (t *tracerTransaction) ConflictingKeys(ctx context.Context) ([]kv.KeyRange, error) {
	return t.Transaction.(kv.ConflictRanger).ConflictingKeys(ctx)
}

func (t *tracerTransaction) traceGet(key []byte, f kv.Future[[]byte], snapshot bool) kv.Future[[]byte] {
	key = append([]byte{}, key...)
	return traceRead(t, f, snapshot, "Get", kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(key)}, func(r *ReadTrace, value []byte) {
		if value != nil {
			r.Pairs, r.Bytes = 1, len(key)+len(value)
		}
	})
}

func (t *tracerTransaction) traceGetKey(sel kv.KeySelector, f kv.Future[[]byte], snapshot bool) kv.Future[[]byte] {
	sel.Key = append([]byte{}, sel.Key...)
	return traceRead(t, f, snapshot, "GetKey", kv.SelectorRange{Begin: sel}, func(r *ReadTrace, key []byte) {
		r.Bytes = len(key)
	})
}

func (t *tracerTransaction) traceGetRange(r kv.RangeResult, snapshot bool) kv.RangeResult {
	return r.Wrap(func(req kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		return traceRead(t, f, snapshot, "GetRange", req.SelectorRange, func(r *ReadTrace, b kv.Batch) {
			r.Pairs = len(b.KVs)
			for _, p := range b.KVs {
				r.Bytes += len(p.Key) + len(p.Value)
			}
		})
	})
}

// tracerSnapshot is the snapshot of a tracerTransaction.
type tracerSnapshot struct {
	kv.ReadTransaction
	tx *tracerTransaction
}

// ReadTransact implements [kv.ReadTransactor].
func (s tracerSnapshot) ReadTransact(_ context.Context, fn func(kv.ReadTransaction) error) error {
	return fn(s)
}

// Get implements [kv.ReadTransaction].
func (s tracerSnapshot) Get(key []byte) kv.Future[[]byte] {
	return s.tx.traceGet(key, s.ReadTransaction.Get(key), true)
}

// GetKey implements [kv.ReadTransaction].
func (s tracerSnapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	return s.tx.traceGetKey(sel, s.ReadTransaction.GetKey(sel), true)
}

// GetRange implements [kv.ReadTransaction].
func (s tracerSnapshot) GetRange(r kv.SelectorRange, o kv.RangeOptions) kv.RangeResult {
	return s.tx.traceGetRange(s.ReadTransaction.GetRange(r, o), true)
}

// Snapshot implements [kv.ReadTransaction].
func (s tracerSnapshot) Snapshot() kv.ReadTransaction { return s }

// traceRead tells the tracer of a read when its result is asked for.
func traceRead[T any](t *tracerTransaction, f kv.Future[T], snapshot bool, method string, keys kv.SelectorRange, measure func(*ReadTrace, T)) kv.Future[T] {
	if t.tracer.Read == nil {
		return f
	}
	r := ReadTrace{AttemptID: t.id(), Method: method, Snapshot: snapshot, Range: keys}
	return traceFuture(f, func(result T, err error, wait time.Duration) {
		r.Wait, r.Err = wait, err
		measure(&r, result)
		t.tracer.Read(r)
	})
}

// tracerResult is a result of which a tracer is told when it is asked for.
type tracerResult[T any] struct {
	future kv.Future[T]
	waited atomic.Int64 // in nanoseconds
	once   sync.Once
	tell   func(result T, err error, wait time.Duration)
}

// traceFuture calls tell once, when the result of f is asked for.
func traceFuture[T any](f kv.Future[T], tell func(T, error, time.Duration)) kv.Future[T] {
	return kv.NewFuture[T](&tracerResult[T]{future: f, tell: tell})
}

// Drive waits for the result as the future does, and measures how long.
func (p *tracerResult[T]) Drive(ctx context.Context) {
	began := time.Now()
	_, _ = p.future.Get(ctx)
	p.waited.Add(int64(time.Since(began)))
}

// Ready reports whether the result is known.
func (p *tracerResult[T]) Ready() bool { return p.future.Ready() }

// Done implements [kv.PendingResult].
func (p *tracerResult[T]) Done() <-chan struct{} { return p.future.Done() }

// Result implements [kv.PendingResult].
func (p *tracerResult[T]) Result() (T, error) {
	result, err := p.future.Get(context.Background())
	p.once.Do(func() { p.tell(result, err, time.Duration(p.waited.Load())) })
	return result, err
}

// Cancel implements [kv.PendingResult].
func (p *tracerResult[T]) Cancel() { p.future.Cancel() }
