// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

var errStopped = errors.New("stopped by the test")

// withCancelAt returns a context that ends at the n-th stage that a build reaches.
func withCancelAt(n int) (context.Context, context.CancelFunc) {
	stop, cancel := context.WithCancelCause(ctx)
	var reached atomic.Int64
	hooked := build.WithHook(stop, func(build.Stage) {
		if reached.Add(1) == int64(n)+1 {
			cancel(errStopped)
		}
	})
	return hooked, func() { cancel(nil) }
}
