// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Future is a result that may arrive later. Start several reads, then wait for
// each: their latencies overlap. A Future is a small value and may be copied; the
// zero Future holds the zero value of T.
//
// A Future is bound to its transaction: once the transaction is reset or
// cancelled, a result that has not arrived becomes CodeTransactionCancelled.
type Future[T any] struct {
	value   T
	err     error
	pending PendingResult[T] // nil: value and err are final
}

// PendingResult is the engine's side of a [Future] that is not ready. It may have
// two more methods. If it has Ready() bool, [Future.Ready] calls it in place of
// Done, for engines where Done has a cost. If it has Drive(context.Context),
// [Future.Get] calls it before it waits: Drive may produce the result in the
// calling goroutine. It returns when its context ends.
type PendingResult[T any] interface {
	// Done is closed when the result is known.
	Done() <-chan struct{}
	// Result returns the result; it is called only after Done is closed.
	Result() (T, error)
	// Cancel makes a result that is not known yet CodeOperationCancelled.
	Cancel()
}

// Resolved returns a Future that is ready.
func Resolved[T any](value T, err error) Future[T] { return Future[T]{value: value, err: err} }

// NewFuture returns a Future with a result that comes from p.
func NewFuture[T any](p PendingResult[T]) Future[T] { return Future[T]{pending: p} }

// Get waits for the result. If ctx ends first, the error wraps ctx's cause and says how
// long the database has not answered; that of a watch, which nothing may fire, is the
// cause itself. The read goes on and Get may be called again.
func (f Future[T]) Get(ctx context.Context) (T, error) {
	if f.pending == nil {
		return f.value, f.err
	}
	v, err := f.await(ctx)
	if silent, ok := err.(*silenceError); ok { // await returns it as it is
		if _, isWatch := any(v).(struct{}); isWatch {
			return v, silent.cause
		}
	}
	return v, err
}

// await is Get of a pending result. Its error is a *silenceError if ctx ends first.
func (f Future[T]) await(ctx context.Context) (T, error) {
	var began time.Time
	ended := ctx.Done()
	if p, ok := f.pending.(interface{ Drive(context.Context) }); ok {
		if ended != nil {
			began = time.Now() // Drive may do all the waiting
		}
		p.Drive(ctx)
	}
	done := f.pending.Done()
	if ended == nil {
		<-done
		return f.pending.Result()
	}
	select {
	case <-done: // a known result takes precedence over an ended context
		if began.IsZero() {
			return f.pending.Result()
		}
	default:
		if began.IsZero() {
			began = time.Now() // a wait for the disk or the network takes longer
		}
		select {
		case <-done:
		case <-ended:
			return silence[T](ctx, began)
		}
	}
	v, err := f.pending.Result()
	if err != nil && ctx.Err() != nil && CodeOf(err) == CodeTransactionCancelled { // by the end of ctx
		return silence[T](ctx, began)
	}
	return v, err
}

// silence returns the error of a wait from began until the end of ctx.
func silence[T any](ctx context.Context, began time.Time) (none T, err error) {
	return none, &silenceError{time.Since(began), context.Cause(ctx)}
}

// silenceError says that a context ended while the database did not answer.
type silenceError struct {
	waited time.Duration
	cause  error // of the context's end
}

// Error implements error.
func (e *silenceError) Error() string {
	const long = time.Second // a database that works has answered by then
	text := fmt.Sprintf("kv: the database has not answered for %v", e.waited.Round(time.Millisecond))
	if e.waited >= long {
		text += " (see whether it is available, as by fdbcli's status, whether it trusts this program's certificate, if it uses TLS, and whether it or this machine is overloaded)"
	}
	return text + ": " + e.cause.Error()
}

// Unwrap returns the context's cause.
func (e *silenceError) Unwrap() error { return e.cause }

// Ready reports whether Get would return at once.
func (f Future[T]) Ready() bool {
	if f.pending == nil {
		return true
	}
	if p, ok := f.pending.(interface{ Ready() bool }); ok {
		return p.Ready()
	}
	select {
	case <-f.pending.Done():
		return true
	default:
		return false
	}
}

// Done returns a channel that is closed when the result is known.
func (f Future[T]) Done() <-chan struct{} {
	if f.pending == nil {
		return closed
	}
	return f.pending.Done()
}

// Cancel makes the result CodeOperationCancelled unless it has already arrived.
func (f Future[T]) Cancel() {
	if f.pending != nil {
		f.pending.Cancel()
	}
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Promise is a [PendingResult] that an engine or a wrapper resolves once: the
// writing end of a Future. It is safe for concurrent use. The zero Promise is not
// resolved.
type Promise[T any] struct {
	mu       sync.Mutex
	done     chan struct{} // nil until the first call of Done
	resolved bool
	value    T
	err      error
}

// NewPromise returns an unresolved promise.
func NewPromise[T any]() *Promise[T] { return &Promise[T]{} }

// Resolve fixes the result. Only the first call counts.
func (p *Promise[T]) Resolve(value T, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resolved {
		return
	}
	p.resolved, p.value, p.err = true, value, err
	if p.done != nil {
		close(p.done)
	}
}

// Done implements [PendingResult].
func (p *Promise[T]) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		if p.resolved {
			return closed
		}
		p.done = make(chan struct{})
	}
	return p.done
}

// Result implements [PendingResult].
func (p *Promise[T]) Result() (T, error) { return p.value, p.err }

// Cancel implements [PendingResult].
func (p *Promise[T]) Cancel() {
	var zero T
	p.Resolve(zero, NewError(CodeOperationCancelled, "the future was cancelled"))
}

// Future returns the reading end.
func (p *Promise[T]) Future() Future[T] { return NewFuture[T](p) }

// GetMany starts a Get of each key and returns their futures, in the same order:
// one round of reads. The keys may be changed once it returns.
func GetMany(tx ReadTransaction, keys [][]byte) []Future[[]byte] {
	return AppendGets(make([]Future[[]byte], 0, len(keys)), tx, keys)
}

// AppendGets is [GetMany] for callers that have memory for the futures: it appends them.
//
// An engine where many reads that start together cost less than a Get of each gives its
// transactions a method
//
//	AppendGets(futures []Future[[]byte], keys [][]byte) []Future[[]byte]
//
// that does the same, and does not keep keys: it is called in place of Get.
func AppendGets(futures []Future[[]byte], tx ReadTransaction, keys [][]byte) []Future[[]byte] {
	if many, ok := tx.(interface {
		AppendGets(futures []Future[[]byte], keys [][]byte) []Future[[]byte]
	}); ok {
		return many.AppendGets(futures, keys)
	}
	for _, key := range keys {
		futures = append(futures, tx.Get(key))
	}
	return futures
}
