// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

const (
	// releaseTimeout is how long one call to release a lease may take.
	releaseTimeout = 5 * time.Second

	// lastAnswer is how long Shutdown waits for the answer to a request for leases. A
	// provider that was asked may have granted them, whatever becomes of the call.
	lastAnswer = time.Second

	// signatureSkew is by how much the clocks of client and provider may differ without
	// a release being signed by both. It is less than what providers accept, 30 s.
	signatureSkew = 10 * time.Second
)

// Shutdown ends the client: Next and NextN return [ErrClosed] from now on, the
// goroutine ends, and the leases go back to the provider with the last
// millisecond in which they were used, so that others can have them at once.
// IDs that a call under way has taken already stay valid.
//
// It waits for the provider no longer than ctx allows: a second for leases that it
// was just asked for, and five for the release of each lease. The error tells which
// leases could not be given back; they end by themselves. Calling it again waits for
// calls under way, and tries again to give back what is left.
func (c *Client) Shutdown(ctx context.Context) error {
	k := &c.keeper
	started, first := c.close()
	if first && c.forget != nil {
		c.forget()
	}
	if started {
		answer := time.AfterFunc(lastAnswer, k.giveUp)
		defer answer.Stop()
		select {
		case <-k.done:
		case <-ctx.Done():
			k.giveUp()
			return fmt.Errorf("idgen: shutdown: gave up waiting: %w", context.Cause(ctx))
		}
	}
	if !k.beginEnding(ctx) {
		return fmt.Errorf("idgen: shutdown: gave up waiting for another call: %w", context.Cause(ctx))
	}
	defer func() { <-k.ending }()
	return c.releaseSpare(ctx)
}

// close ends the era of IDs, and queues all leases for release. It reports whether the
// keeper was started, and whether this is the first call.
func (c *Client) close() (started, first bool) {
	c.lock()
	defer c.unlock()
	k := &c.keeper
	if first = c.era.Load().mode != closed; first {
		c.changeEra(c.emptyEra(closed))
		k.stop()
		k.markSettled()
		k.spare = append(k.spare, c.leases.leases...)
		c.leases.leases = nil
	}
	return k.started, first
}

// releaseSpare releases the queued leases. Those that have ended need no
// release. Those that are left when ctx ends stay in the queue, as do all that are left
// once the client is shut down.
func (c *Client) releaseSpare(ctx context.Context) error {
	c.lock()
	spare := c.keeper.spare
	c.keeper.spare = nil
	c.unlock()
	var faults []error
	var left []*heldLease
	for i, l := range spare {
		err := c.releaseLease(ctx, l)
		if err == nil {
			continue
		}
		faults = append(faults, fmt.Errorf("idgen: release the lease of machine %d: %w", l.ID, err))
		if ctx.Err() != nil {
			left = append(left, spare[i:]...)
			break
		}
		if c.era.Load().mode == closed {
			left = append(left, l)
		}
	}
	c.lock()
	defer c.unlock()
	c.keeper.spare = append(c.keeper.spare, left...)
	return errors.Join(faults...)
}

func (c *Client) releaseLease(ctx context.Context, l *heldLease) error {
	if l.last >= l.Expired {
		return nil // it was continued
	}
	now := c.clock.read().ms // also while the wall clock is not believed
	times := l.signTimes(now, time.Now())
	if len(times) == 0 {
		return nil
	}
	var err error
	for _, ms := range times {
		if err = c.sendRelease(ctx, l, ms); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil && now >= l.Expired {
		return nil // it has ended if this clock is right
	}
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

// sendRelease calls the provider with a release that is signed by the time ms.
func (c *Client) sendRelease(ctx context.Context, l *heldLease, ms int64) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	return c.opts.Provider.Release(ctx, l.Release(c.opts.ServiceID, l.last, time.UnixMilli(ms)))
}
