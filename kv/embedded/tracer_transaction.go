// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// tracerTransaction is a transaction whose calls are told to a tracer.
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
