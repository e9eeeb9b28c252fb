// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
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
	_ = sleep.For(ctx, rand.N(delay)+1)
	return ctx.Err()
}
