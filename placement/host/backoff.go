// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"math/rand/v2"
	"time"
)

// The delays between the attempts of a call double from the first to the last.
const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = time.Second
)

// backoff waits for a random part of a delay that doubles with each attempt. It
// returns an error if ctx ends first.
func backoff(ctx context.Context, attempt int) error {
	delay := lastBackoff
	if attempt < 8 {
		delay = min(delay, firstBackoff<<attempt)
	}
	return sleep(ctx, rand.N(delay)+1)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
