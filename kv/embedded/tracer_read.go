// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

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
