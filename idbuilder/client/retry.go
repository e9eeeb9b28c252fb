// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/api"
)

// maxRetryAfter is for how long the service may have a request wait.
const maxRetryAfter = 30 * time.Second

// send sends a request until it is answered, or as often as [Retry] says. The error is a
// [*RequestError].
func (c *Client) send(ctx context.Context, r request) error {
	var err error
	tries, pauses := 0, 0
	for {
		index := c.url.Load()
		err = c.try(ctx, c.urls[index], r)
		if err == nil {
			return nil
		}
		c.count.failures.Add(1)
		if tries++; ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), err)
			break
		}
		pause, again := c.again(err, tries, &pauses)
		if !again {
			break
		}
		if elsewhere(err) {
			c.failover(index)
		}
		if wait(ctx, pause) != nil {
			err = errors.Join(context.Cause(ctx), err)
			break
		}
	}
	return &RequestError{Method: r.method, Path: r.path, Key: r.query.Get("key"), Tries: tries, Err: err}
}

// again reports whether a request that failed so often is sent again, and after which pause:
// none before the other URLs had their turn.
func (c *Client) again(err error, tries int, pauses *int) (time.Duration, bool) {
	if !retryable(err) || tries >= c.options.Retry.Attempts*len(c.urls) {
		return 0, false
	}
	var refusal *api.Error
	if errors.As(err, &refusal) && refusal.RetryAfter > 0 && (len(c.urls) == 1 || !elsewhere(err)) {
		return refusal.RetryAfter + jitter(c.options.Retry.First), refusal.RetryAfter <= maxRetryAfter
	}
	if elsewhere(err) && tries%len(c.urls) != 0 {
		return 0, true
	}
	*pauses++
	return c.options.Retry.pause(*pauses), true
}

// pause returns the n-th pause, counted from 1: half of it is random.
func (r Retry) pause(n int) time.Duration {
	d := r.First << min(n-1, 30)
	if d > r.Max || d < r.First {
		d = r.Max
	}
	return d/2 + jitter(d/2)
}

func jitter(most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	return rand.N(most + 1)
}

// retryable reports whether the same request may succeed later: a refusal for a while, a failed connection, an
// answer that was cut off.
func retryable(err error) bool {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return true
	}
	switch refusal.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusServiceUnavailable:
		return refusal.Code != api.Exhausted
	}
	return false
}

// elsewhere reports whether another URL may answer at once: a limit of requests is
// the token's, at each of them.
func elsewhere(err error) bool {
	var refusal *api.Error
	return !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests
}

// failover has later requests go to the next URL, unless another request has
// changed it already.
func (c *Client) failover(from int64) {
	if len(c.urls) > 1 && c.url.CompareAndSwap(from, (from+1)%int64(len(c.urls))) {
		c.count.failovers.Add(1)
	}
}

// wait waits until a time has passed or ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
