// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

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
