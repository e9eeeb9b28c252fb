// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// patience is how long an attempt suffers delays. Where timers are slow, on a
// busy machine, more of them would make it too old in earnest.
const patience = 500 * time.Millisecond

// delay returns the future with its result arriving late.
func delay[T any](t *hostileTx, future kv.Future[T]) kv.Future[T] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return delayLocked(t, future)
}

func delayLocked[T any](t *hostileTx, future kv.Future[T]) kv.Future[T] {
	promise, late := kv.NewPromise[T](), t.delayLocked()
	id := t.holdLocked(func(err error) {
		var zero T
		promise.Resolve(zero, err)
	})
	go func() {
		if follow(future, promise, late) {
			promise.Resolve(future.Get(context.Background()))
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.loose, id)
	}()
	return promise.Future()
}

// follow waits until future is ready and so much longer. It returns false if
// the promise was resolved in between: then the future is given up.
func follow[T any](future kv.Future[T], promise *kv.Promise[T], late time.Duration) bool {
	select {
	case <-future.Done():
	case <-promise.Done():
		future.Cancel()
		return false
	}
	if late <= 0 {
		return true
	}
	timer := time.NewTimer(late)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-promise.Done():
		return false
	}
}

// hostileWatch is a watch that may fire without a reason.
type hostileWatch struct {
	inner   kv.Future[struct{}]
	promise *kv.Promise[struct{}]
}

// settle is called when the commit is decided: every third watch fires at once.
func (w hostileWatch) settle(t *hostileTx, err error) {
	if err != nil {
		w.fail(err)
	} else if t.rng.IntN(3) == 0 {
		w.promise.Resolve(struct{}{}, nil)
	}
}

func (w hostileWatch) fail(err error) { w.promise.Resolve(struct{}{}, err) }

// hostileStamp is a versionstamp asked for: a commit that loses its
// acknowledgement must not give it away.
type hostileStamp struct {
	inner   kv.Future[[]byte]
	promise *kv.Promise[[]byte]
}

// settle is called when the commit is decided.
func (s hostileStamp) settle(err error) {
	if err != nil {
		s.fail(kv.NewError(kv.CodeTransactionInvalidVersion, "the commit failed: %v", err))
		return
	}
	go func() {
		if follow(s.inner, s.promise, 0) {
			s.promise.Resolve(s.inner.Get(context.Background()))
		}
	}()
}

func (s hostileStamp) fail(err error) { s.promise.Resolve(nil, err) }

// delayLocked chooses how late a future is: half of them are not. It is called
// with mu held.
func (t *hostileTx) delayLocked() time.Duration {
	if t.maxDelay <= 0 || t.rng.IntN(2) == 0 {
		return 0
	}
	late := time.Duration(t.rng.Int64N(int64(t.maxDelay)))
	if late < patience && time.Since(t.began) > patience {
		return 0
	}
	return late
}

// holdLocked registers how to fail a future when the transaction is reset. It
// is called with mu held.
func (t *hostileTx) holdLocked(fail func(error)) uint64 {
	t.nextID++
	t.loose[t.nextID] = fail
	return t.nextID
}

// Watch implements [kv.Transaction].
func (t *hostileTx) Watch(key []byte) kv.Future[struct{}] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return kv.Resolved(struct{}{}, t.failed)
	}
	w := hostileWatch{t.inner.Watch(key), kv.NewPromise[struct{}]()}
	t.watches = append(t.watches, w)
	go func() {
		if follow(w.inner, w.promise, 0) {
			w.promise.Resolve(w.inner.Get(context.Background()))
		}
	}()
	return w.promise.Future()
}

// GetVersionstamp implements [kv.Transaction].
func (t *hostileTx) GetVersionstamp() kv.Future[[]byte] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed != nil {
		return kv.Resolved([]byte(nil), t.failed)
	}
	s := hostileStamp{t.inner.GetVersionstamp(), kv.NewPromise[[]byte]()}
	t.stamps = append(t.stamps, s)
	return s.promise.Future()
}
