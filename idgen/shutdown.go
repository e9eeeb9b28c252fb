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
		c.change(c.emptyEra(closed))
		c.keeper.stop()
		c.keeper.settle()
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
	c.keeper.spare = append(c.keeper.spare, c.holdings.leases...)
	c.holdings.leases = nil
	c.unlock()
	return c.releaseSpare(ctx)
}

// AfterRestore tells the client that its process may be a copy of another one
// that goes on: a virtual machine was cloned or restored from a snapshot, or a
// checkpoint of the process was. The client abandons its leases without giving
// them back, since the other one may be using them, and acquires others before
// it makes a further ID. Call it before anything else makes an ID: a client
// notices by itself only that the clock is set right, if that is a step of more
// than five seconds, and in the next millisecond, which is too late for IDs made
// before.
func (c *Client) AfterRestore() {
	c.lock()
	defer c.unlock()
	c.abandon()
}

// abandon forgets the leases without giving them back, and a request under way,
// whose reply a copy of this process may get as well. The caller holds mu.
func (c *Client) abandon() {
	k := &c.keeper
	if c.era.Load().mode == closed {
		return
	}
	c.holdings.leases, k.spare = nil, nil
	if c.opts.Provider != nil {
		k.abandon(c.opts.AcquireRetryInterval)
	}
	c.change(c.initialEra())
}

// abandon makes the keeper begin anew: at once, unless its last try has failed or
// was less than an interval ago.
func (k *keeper) abandon(least time.Duration) {
	k.abandoned++
	k.request = nil
	if k.cancel != nil {
		k.cancel()
	}
	if k.failures == 0 {
		k.retryAt = k.askedAt.Add(least)
		if k.isSettled {
			k.isSettled, k.pending = false, make(chan struct{})
		}
	}
	k.rouse()
}

// releaseSpare gives back the leases that were queued for it. Leases that have
// ended are left to end. Those that it did not get to before ctx ended stay in
// the queue.
func (c *Client) releaseSpare(ctx context.Context) error {
	c.lock()
	spare := c.keeper.spare
	c.keeper.spare = nil
	c.unlock()
	var faults []error
	for i, l := range spare {
		err := c.release(ctx, l)
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

func (c *Client) release(ctx context.Context, l *held) error {
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
		c.note(slog.LevelWarn, "idgen: releasing a lease failed", "machine", l.ID, "error", err)
		return err
	}
	c.counts.Releases++
	return nil
}
