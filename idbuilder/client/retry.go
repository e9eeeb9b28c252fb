// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// maxRetryAfter bounds the wait that the service may ask for.
const maxRetryAfter = 30 * time.Second

// pauseAfter returns the n-th pause, counted from 1: half of it is random.
func (r Retry) pauseAfter(n int) time.Duration {
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

// mayWorkElsewhere reports whether another URL may answer at once. A limit of requests holds
// for the token at each URL.
func mayWorkElsewhere(err error) bool {
	var refusal *api.Error
	return !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests
}

// mayBeDone reports whether a request that failed may have been carried out: unless it reached
// no service, or was refused because of a limit.
func mayBeDone(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return false
	}
	return mayWorkElsewhere(err)
}
