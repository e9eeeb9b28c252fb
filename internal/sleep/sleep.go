// SPDX-License-Identifier: Apache-2.0

// Package sleep waits for a time that the end of a context cuts short.
package sleep

import (
	"context"
	"time"
)

// For waits for d, or returns the cause of ctx's end if that comes first. It does
// not wait if d is zero or negative.
func For(ctx context.Context, d time.Duration) error {
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
