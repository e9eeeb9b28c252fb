// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// limits bound the requests of each token.
type limits struct {
	rate  float64 // requests a second; 0: without bound
	burst int
	byWho sync.Map // of *rate.Limiter, by hash of a token
}

// allowRequest counts a request of a token, or refuses it.
func (l *limits) allowRequest(who [32]byte, now time.Time) error {
	if l.rate == 0 {
		return nil
	}
	found, ok := l.byWho.Load(who)
	if !ok {
		found, _ = l.byWho.LoadOrStore(who, rate.NewLimiter(rate.Limit(l.rate), l.burst))
	}
	limiter := found.(*rate.Limiter)
	if limiter.AllowN(now, 1) {
		return nil
	}
	wait := time.Duration((1 - limiter.TokensAt(now)) / l.rate * float64(time.Second))
	return &api.Error{
		Code: api.Unavailable, Status: http.StatusTooManyRequests, RetryAfter: max(wait, time.Millisecond),
		Message: "the token has made more requests than its limit allows",
	}
}

// forgetIdle forgets tokens that may make as many requests at once as a new token.
func (l *limits) forgetIdle() {
	l.byWho.Range(func(who, limiter any) bool {
		if limiter.(*rate.Limiter).Tokens() >= float64(l.burst) {
			l.byWho.Delete(who)
		}
		return true
	})
}

func sha256Sum(text string) [32]byte { return sha256.Sum256([]byte(text)) }
