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
	Read func(Trace)

	// Write is called after Set, Clear, ClearRange and Atomic. The write takes effect when the
	// transaction commits.
	Write func(Trace)

	// Commit is called when the program has got the outcome of a commit.
	Commit func(Trace)

	// Retry is called when OnError has waited, or has refused another attempt.
	Retry func(Trace)
}

// Trace is what a [Tracer] is told of a call. The fields that do not concern the call are
// zero.
type Trace struct {
	Transaction uint64 // from 1 on, in the order in which transactions began
	Attempt     int    // from 1 on; OnError and Reset begin the next one
	Method      string // Get, GetKey, GetRange; Set, Clear, ClearRange, Atomic; Commit; OnError

	// Range is what a read asked for: of Get and GetKey only Begin is set, of a batch of
	// GetRange what the batches before it have left.
	Range    kv.SelectorRange
	Snapshot bool        // of a read
	Keys     kv.KeyRange // that were written; of a single key: from it to its successor
	Pairs    int         // how many were read
	Bytes    int         // of the keys and values that were read, or of the value or operand that was written

	Reads   []kv.KeyRange // of a commit: the read conflict ranges, in order and merged
	Writes  []kv.KeyRange // of a commit: the write conflict ranges
	Version int64         // of a commit; -1 if nothing was committed
	// Conflicts are the ranges of Reads that others have written, if the transaction
	// has kv.OptionReportConflictingKeys and Err has CodeNotCommitted.
	Conflicts []kv.KeyRange

	Cause error         // what OnError was told that the attempt failed with
	Wait  time.Duration // how long the program waited for the result, or OnError before the next attempt
	Err   error         // of OnError: nil if another attempt begins
}

// tracerTransaction is a transaction that reports its calls to a tracer.
type tracerTransaction struct {
	kv.Transaction
	tracer  *Tracer
	number  uint64
	attempt atomic.Int64
}

// newTrace returns a trace of a call of the present attempt.
func (t *tracerTransaction) newTrace(method string) Trace {
	return Trace{Transaction: t.number, Attempt: int(t.attempt.Load()), Method: method}
}

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
		w := t.newTrace(method)
		w.Keys, w.Bytes = keys, bytes
		t.tracer.Write(w)
	}
}

// Commit implements [kv.Transaction].
func (t *tracerTransaction) Commit(ctx context.Context) error {
	return kv.AwaitCommit(ctx, t.CommitAsync())
}

// CommitAsync implements [kv.Transaction].
func (t *tracerTransaction) CommitAsync() kv.Future[struct{}] {
	c := t.newTrace("Commit")
	return traceFuture(t.Transaction.CommitAsync(), func(_ struct{}, err error, wait time.Duration) {
		c.Version, c.Wait, c.Err = -1, wait, err
		t.traceCommit(c)
	})
}

// traceCommit adds the conflict ranges to a trace, and tells it.
func (t *tracerTransaction) traceCommit(c Trace) {
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
	r, began := t.newTrace("OnError"), time.Now()
	err := t.Transaction.OnError(ctx, cause)
	if err == nil {
		t.attempt.Add(1)
	}
	if t.tracer.Retry != nil {
		r.Cause, r.Wait, r.Err = cause, time.Since(began), err
		t.tracer.Retry(r)
	}
	return err
}

// Reset implements [kv.Transaction].
func (t *tracerTransaction) Reset() {
	t.Transaction.Reset()
	t.attempt.Add(1)
}

func (t *tracerTransaction) traceGet(key []byte, f kv.Future[[]byte], snapshot bool) kv.Future[[]byte] {
	key = append([]byte{}, key...)
	return traceRead(t, f, snapshot, "Get", kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(key)}, func(r *Trace, value []byte) {
		if value != nil {
			r.Pairs, r.Bytes = 1, len(key)+len(value)
		}
	})
}

func (t *tracerTransaction) traceGetKey(sel kv.KeySelector, f kv.Future[[]byte], snapshot bool) kv.Future[[]byte] {
	sel.Key = append([]byte{}, sel.Key...)
	return traceRead(t, f, snapshot, "GetKey", kv.SelectorRange{Begin: sel}, func(r *Trace, key []byte) {
		r.Bytes = len(key)
	})
}

func (t *tracerTransaction) traceGetRange(r kv.RangeResult, snapshot bool) kv.RangeResult {
	return r.Wrap(func(req kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
		return traceRead(t, f, snapshot, "GetRange", req.SelectorRange, func(r *Trace, b kv.Batch) {
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
func traceRead[T any](t *tracerTransaction, f kv.Future[T], snapshot bool, method string, keys kv.SelectorRange, measure func(*Trace, T)) kv.Future[T] {
	if t.tracer.Read == nil {
		return f
	}
	r := t.newTrace(method)
	r.Snapshot, r.Range = snapshot, keys
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
