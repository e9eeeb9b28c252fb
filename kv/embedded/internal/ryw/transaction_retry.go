// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/keys"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/watch"
)

// OnError implements [kv.Transaction].
func (t *Transaction) OnError(ctx context.Context, err error) error {
	wait, dead := t.decideRetry(err)
	if dead != nil {
		return dead
	}
	if err := pause(ctx, wait); err != nil {
		t.Cancel()
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deadErr != nil {
		return t.deadErr
	}
	if t.awaitCommit(ctx); t.deadErr != nil { // a commit that was submitted goes its way
		return t.deadErr
	}
	t.engine.CountRetry()
	t.retried, t.firstStamp = true, t.stampTold()
	t.beginAttempt(t.settings.afterRetry(*t.first))
	t.setExpiry()
	return nil
}

// decideRetry decides whether err is followed by another attempt, and after which
// wait. If not, the transaction is dead.
func (t *Transaction) decideRetry(err error) (time.Duration, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checkTimeout()
	if t.deadErr != nil {
		return 0, t.deadErr
	}
	switch kv.CodeOf(err) {
	case 0:
		t.failUntilReset(errCancelled)
		return 0, orInvalid(err)
	case kv.CodeOf(errDropped):
		t.failUntilReset(errCancelled)
		return 0, errCancelled
	}
	exhausted := t.settings.retryLimit >= 0 && t.retries >= t.settings.retryLimit
	t.retries++
	if exhausted || !kv.IsRetryable(err) {
		t.failUntilReset(errCancelled)
		return 0, err
	}
	return t.retryDelay(kv.CodeOf(err)), nil
}

const (
	versionDelay   = 10 * time.Millisecond // after a version that is too old or too new (FUTURE_VERSION_RETRY_DELAY)
	longestIfShort = 30 * time.Second      // the cap after errors of memory that is short (RESOURCE_CONSTRAINED_MAX_BACKOFF)
)

// retryDelay returns how long OnError waits, as FoundationDB's client does
// (Transaction::getBackoff): a random part of a delay that doubles, but a fixed time
// after errors of the version.
func (t *Transaction) retryDelay(code kv.Code) time.Duration {
	switch code {
	case kv.CodeFutureVersion, kv.CodeTransactionTooOld:
		return min(versionDelay, t.settings.maxDelay)
	case kv.CodeCommitProxyMemoryLimitExceeded, kv.CodeGRVProxyMemoryLimitExceeded:
		defer func(usual time.Duration) { t.backoff.cap = usual }(t.backoff.cap)
		t.backoff.cap = longestIfShort
	}
	return t.backoff.next()
}

// firstDelay is the first wait of OnError. FoundationDB's is 10 ms, for a
// conflict found out over the network; here it is known in microseconds.
const firstDelay = 100 * time.Microsecond

// backoff computes the waits of OnError: each is a random part of a delay that
// doubles from firstDelay up to a cap (full jitter).
type backoff struct {
	cap   time.Duration
	delay time.Duration // 0 before the first wait
}

// next returns the next wait and then doubles the delay.
func (b *backoff) next() time.Duration {
	if b.delay == 0 {
		b.delay = min(firstDelay, b.cap)
	}
	wait := time.Duration(rand.Float64() * float64(b.delay))
	b.delay = min(2*b.delay, b.cap)
	return wait
}

// orInvalid returns the error of OnError for an error that is not an engine's.
func orInvalid(err error) error {
	if e := (*kv.Error)(nil); err == nil || errors.As(err, &e) {
		return kv.NewError(kv.CodeClientInvalidOperation, "OnError of no error")
	}
	return err
}

// pause waits, but not longer than ctx.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Watch implements [kv.Transaction].
func (t *Transaction) Watch(key []byte) kv.Future[struct{}] {
	failed := func(err error) kv.Future[struct{}] { return kv.Resolved(struct{}{}, err) }
	if err := t.checkWatch(key); err != nil {
		return failed(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkUsable(); err != nil { // it may have been cancelled in between
		return failed(err)
	}
	t.read = true
	p, err := t.startPointRead(&t.writes, key, nil)
	if err == nil && !p.answered {
		p.readCached(key)
		err = p.err
	}
	if err != nil {
		return failed(err)
	}
	if !p.known {
		t.addKeyRead(key, false)
	}
	added, err := t.engine.NewWatch(keys.Own(key), p.value)
	if err != nil {
		return failed(err)
	}
	a, w := t.ensureAttempt(), &ownWatch{Watch: added}
	a.watches = append(a.watches, w)
	if !p.answered {
		p.key, w.unread = w.Key, true
		startCall(t, func(*atomic.Bool) { p.readStored() }, func() (struct{}, error) {
			w.setValue(p.value, p.err)
			return struct{}{}, nil
		})
	}
	return kv.NewFuture[struct{}](w.Watch)
}

func (t *Transaction) checkWatch(key []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkUsable(); err != nil {
		return err
	}
	switch {
	case t.settings.rywDisabled:
		return kv.NewError(kv.CodeWatchesDisabled, "read-your-writes is disabled")
	case bytes.Compare(key, t.settings.readEnd()) >= 0 && !isMetadata(key):
		return outside(key)
	case len(key) > longestKey(key):
		return kv.NewError(kv.CodeKeyTooLarge, "key %s", keys.Printable(key))
	}
	return nil
}

// ownWatch is a watch until its transaction commits.
type ownWatch struct {
	*watch.Watch
	unread bool       // the value is being read
	set    *operation // then: the last set or clear of the key by the transaction itself
}

// setValue takes the value that the transaction sees, or why it cannot be read.
// What the transaction has set or cleared since then fires the watch if it differs.
func (w *ownWatch) setValue(value []byte, err error) {
	w.Value, w.unread = value, false
	switch {
	case err != nil:
		w.Finish(err)
	case w.set != nil && !same(w.set.value, value):
		w.Finish(nil)
	}
}

// same reports whether two values are equal; absent and empty differ.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
