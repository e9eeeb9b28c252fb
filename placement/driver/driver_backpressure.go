// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// Flush waits until the handlers have handled all events, also those that come in the
// meantime. A handler must not call it: it would wait for itself.
func (d *Driver) Flush(ctx context.Context) error {
	if err := d.events.awaitBelow(ctx, 1); err != nil {
		return err
	}
	return d.cached.awaitBelow(ctx, 1)
}

// isBehind reports whether the handlers of events are so far behind that resolves wait.
func (d *Driver) isBehind() bool { return d.events.isFull() || d.cached.isFull() }

// awaitRoom waits while the handlers of events are too far behind, but no longer than
// a command may take, so that a handler that resolves does not wait for itself for
// ever.
func (d *Driver) awaitRoom(ctx context.Context, key placement.Key) error {
	if !d.isBehind() {
		return nil
	}
	if d.options.Runner != nil {
		return d.errBehind(key)
	}
	within, cancel := context.WithTimeout(ctx, d.options.CommandTimeout)
	defer cancel()
	for d.isBehind() {
		if d.events.awaitBelow(within, d.options.EventBuffer) == nil && d.cached.awaitBelow(within, d.options.EventBuffer) == nil {
			continue
		}
		if ctx.Err() != nil {
			return endedError(ctx, key, d.errBehind(key))
		}
		return d.errBehind(key)
	}
	return nil
}

func (d *Driver) errBehind(key placement.Key) error {
	return fmt.Errorf("driver: resolving %s: %w: the handlers of events are %d events behind", key, placement.ErrOverloaded, max(d.events.left.Load(), d.cached.left.Load()))
}
