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
	t.beginAttempt(t.settings.afterRetry(t.client.defaults))
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
