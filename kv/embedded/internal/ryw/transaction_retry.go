// SPDX-License-Identifier: Apache-2.0

package ryw

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/kv"
)

// OnError implements [kv.Transaction].
func (t *Transaction) OnError(ctx context.Context, err error) error {
	wait, dead := t.retry(err)
	if dead != nil {
		return dead
	}
	if err := pause(ctx, wait); err != nil {
		t.Cancel()
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead != nil {
		return t.dead
	}
	t.awaitCommit(ctx) // a commit that was submitted goes its way
	t.engine.CountRetry()
	t.again, t.firstStamp = true, t.stampTold()
	t.renew(t.settings.afterRetry(t.client.defaults))
	t.setExpiry()
	return nil
}

// retry decides whether err is followed by another attempt, and after which
// wait. If not, the transaction is dead.
func (t *Transaction) retry(err error) (time.Duration, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	if t.dead != nil {
		return 0, t.dead
	}
	switch kv.CodeOf(err) {
	case 0:
		t.kill(errCancelled)
		return 0, orInvalid(err)
	case kv.CodeOf(errDropped):
		t.kill(errCancelled)
		return 0, errCancelled
	}
	exhausted := t.settings.retryLimit >= 0 && t.retries >= t.settings.retryLimit
	t.retries++
	if exhausted || !kv.IsRetryable(err) {
		t.kill(errCancelled)
		return 0, err
	}
	return t.wait(kv.CodeOf(err)), nil
}

const (
	versionDelay   = 10 * time.Millisecond // after a version that is too old or too new (FUTURE_VERSION_RETRY_DELAY)
	longestIfShort = 30 * time.Second      // the cap after errors of memory that is short (RESOURCE_CONSTRAINED_MAX_BACKOFF)
)

// wait returns how long OnError waits, as FoundationDB's client does: a random
// part of a delay that doubles, but a fixed time after errors of the version.
func (t *Transaction) wait(code kv.Code) time.Duration {
	switch code {
	case kv.CodeFutureVersion, kv.CodeTransactionTooOld:
		return min(versionDelay, t.settings.maxDelay)
	case kv.CodeProxyMemoryLimitExceeded, kv.CodeGRVProxyMemoryLimit:
		defer func(cap time.Duration) { t.backoff.Max = cap }(t.backoff.Max)
		t.backoff.Max = longestIfShort
	}
	return t.backoff.Next()
}

// orInvalid returns the error of OnError for what is no engine's error.
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
