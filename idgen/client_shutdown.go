// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// releaseTimeout is how long one call to release a lease may take.
const releaseTimeout = 5 * time.Second

// Shutdown ends the client: Next and NextN return [ErrClosed] from now on, the
// goroutine ends, and the leases go back to the provider with the last
// millisecond in which they were used, so that others can have them at once.
// IDs that a call under way has taken already stay valid.
//
// It waits for the provider no longer than ctx allows, and five seconds for
// each lease. The error tells which leases could not be given back; they end by
// themselves. Calling it again waits for the first call's end and returns nil.
func (c *Client) Shutdown(ctx context.Context) error {
	c.lock()
	first := c.era.Load().mode != closed
	if first {
		c.changeEra(c.emptyEra(closed))
		c.keeper.stop()
		c.keeper.markSettled()
	}
	started := c.keeper.started
	c.unlock()
	if first && c.forget != nil {
		c.forget()
	}
	if started {
		select {
		case <-c.keeper.done:
		case <-ctx.Done():
			return fmt.Errorf("idgen: shutdown: gave up waiting: %w", context.Cause(ctx))
		}
	}
	if !first {
		return nil
	}
	c.lock()
	c.keeper.spare = append(c.keeper.spare, c.leases.leases...)
	c.leases.leases = nil
	c.unlock()
	return c.releaseSpare(ctx)
}

// releaseSpare releases the queued leases. Those that have ended need no
// release. Those that are left when ctx ends stay in the queue.
func (c *Client) releaseSpare(ctx context.Context) error {
	c.lock()
	spare := c.keeper.spare
	c.keeper.spare = nil
	c.unlock()
	var faults []error
	for i, l := range spare {
		err := c.releaseLease(ctx, l)
		if err == nil {
			continue
		}
		faults = append(faults, fmt.Errorf("idgen: release the lease of machine %d: %w", l.ID, err))
		if ctx.Err() != nil {
			c.lock()
			c.keeper.spare = append(c.keeper.spare, spare[i:]...)
			c.unlock()
			break
		}
	}
	return errors.Join(faults...)
}

func (c *Client) releaseLease(ctx context.Context, l *heldLease) error {
	now := time.UnixMilli(c.clock.read().ms) // also while the wall clock is not believed
	if now.UnixMilli() >= l.Expired || l.last >= l.Expired {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	err := c.opts.Provider.Release(ctx, l.Release(c.opts.ServiceID, l.last, now))
	c.lock()
	defer c.unlock()
	if err != nil {
		c.counts.ReleaseFailures++
		c.logLater(slog.LevelWarn, "idgen: releasing a lease failed", "machine", l.ID, "error", err)
		return err
	}
	c.counts.Releases++
	return nil
}
