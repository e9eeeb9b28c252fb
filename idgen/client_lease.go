// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// acceptGrant handles the answer of the provider.
func (c *Client) acceptGrant(leases []Lease, err error) {
	now, r := time.Now(), c.clock.read()
	var fresh []*heldLease
	if err == nil {
		fresh, err = c.checkGrant(leases, r, now)
		r = c.witnessJump(r, now, fresh)
	}
	if err != nil {
		c.noteLate(fresh, now)
		if !c.keeper.wasLate {
			c.noteFailure(err, now)
		}
		if len(fresh) > 0 {
			c.leases.dropEnded(r.ms)
			c.reviseEra(r)
		}
		return
	}
	k := &c.keeper
	c.counts.Acquires++
	k.request, k.failures, k.lastErr, k.wasLate = nil, 0, nil, false
	k.floor = fresh[0].Duration() / keepShare
	c.leases.markReplaced(now, k.anew)
	c.leases.leases = append(c.leases.leases, fresh...)
	k.retryAt = now
	if c.leases.lastingThroughput(now) < k.want {
		k.retryAt = now.Add(c.opts.AcquireRetryInterval)
	}
	c.leases.dropEnded(r.ms)
	c.reviseEra(r)
	k.markSettled()
}

// reviseEra ends the era, so that the next one uses the leases that have just
// come.
func (c *Client) reviseEra(r clockSample) {
	if p := c.leases.choose(r.ms, c.layout); p.mode == leased {
		c.changeEra(c.leasedEra(p))
		return
	}
	c.changeEra(c.emptyEra(waiting)) // the next caller decides
}

// noteLate notes whether the call that has failed lasted so long that the answer says
// nothing of the provider: the process was stopped, or the machine is overloaded. The
// call is repeated once, at once, and callers go on waiting for it.
func (c *Client) noteLate(fresh []*heldLease, now time.Time) {
	k := &c.keeper
	took := now.Sub(k.askedAt)
	late := took > acquireTimeout+lastAnswer
	for _, l := range fresh {
		late = late || took >= l.Duration()
	}
	k.wasLate = late && !k.wasLate && k.failures == 0
	if k.wasLate {
		k.retryAt = now
	}
}

// noteFailure schedules the next try.
func (c *Client) noteFailure(err error, now time.Time) {
	k := &c.keeper
	c.counts.AcquireFailures++
	k.failures++
	k.lastErr = err
	pause := c.backoff(k.failures)
	k.retryAt = now.Add(pause)
	c.logLater(slog.LevelWarn, "idgen: acquiring a lease failed", "error", err, "failures", k.failures, "retry", pause)
	if k.request != nil && k.request.Throughput > firstThroughput && k.tries > 1 {
		k.want = max(k.want/growth, firstThroughput) // perhaps it was too much
		k.growAt = now.Add(c.opts.AcquireRetryMaxInterval)
		k.request = nil
	}
	k.markSettled()
}

// checkGrant returns the leases that IDs can now be made under, or why there is
// none. It queues the other ones for release.
func (c *Client) checkGrant(leases []Lease, r clockSample, now time.Time) (fresh []*heldLease, err error) {
	var faults []error
	for _, l := range leases {
		if err := c.checkLease(l); err != nil {
			faults = append(faults, err)
			c.keeper.spare = append(c.keeper.spare, c.newHeldLease(l, r, now))
			continue
		}
		fresh = append(fresh, c.newHeldLease(l, r, now))
	}
	if len(faults) > 0 {
		err = errors.Join(faults...)
		c.counts.RejectedLeases += int64(len(faults))
		c.logLater(slog.LevelError, "idgen: refused a lease", "error", err)
	}
	if len(fresh) == 0 && err == nil {
		err = errors.New("idgen: the provider granted no lease")
	}
	if len(fresh) > 0 {
		err = c.checkLife(fresh, r)
	}
	if err != nil {
		c.keeper.request = nil // or the answer would be the same
	}
	return fresh, err
}

// checkLease returns why IDs cannot be made under l. The first lease decides
// the layout unless the options do.
func (c *Client) checkLease(l Lease) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if layout := l.Layout(); !c.layout.sameFrame(layout) {
		if c.pinned {
			return &refusal.EpochMismatchError{ServiceID: c.opts.ServiceID, Want: refusal.Layout(c.layout), Got: refusal.Layout(layout)}
		}
		c.adoptLayout(layout)
	}
	c.pinned = true
	return nil
}

// adoptLayout makes layout the one of later eras. IDs that were made before,
// without a lease, have the default layout.
func (c *Client) adoptLayout(layout Layout) {
	if e := c.era.Load(); e.word.Load()>>e.shift != 0 {
		c.logLater(slog.LevelError, "idgen: fallback IDs were made in the default layout, which is not the service's: they do not sort among its IDs, nor tell their time; set Options.Layout",
			"epoch", layout.CustomEpoch, "bits", fmt.Sprintf("%d+%d+%d+%d", layout.ReserveBits, layout.TimestampBits, layout.MachineBits, layout.SequenceBits))
	}
	c.layout = layout
}

// newHeldLease returns l as a lease of the client, to be replaced after about
// half of its life by this machine's clock, see keepShare, or at once if that has ended.
func (c *Client) newHeldLease(l Lease, r clockSample, now time.Time) *heldLease {
	life := max(time.Duration(min(l.Expired-r.ms, l.Expired-l.Created))*time.Millisecond, 0)
	part := 0.4 + 0.2*mathrand.Float64()
	keep := max(time.Duration(part*float64(life)), l.Duration()/keepShare)
	if life == 0 {
		keep = 0
	}
	return &heldLease{Lease: l, asked: c.keeper.askedAt, last: l.Created - 1, renew: now.Add(keep)}
}

// checkLife returns an error if all leases had ended when they came. It then
// keeps them for fallback; they replace nothing.
func (c *Client) checkLife(fresh []*heldLease, r clockSample) error {
	for _, l := range fresh {
		if r.ms < l.Expired {
			return nil
		}
	}
	c.leases.leases = append(c.leases.leases, fresh...)
	return fmt.Errorf("idgen: the lease of machine %d ended at %v; this machine's clock is ahead of the provider's by more than a lease lasts",
		fresh[0].ID, time.UnixMilli(fresh[0].Expired).UTC())
}

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

// Shutdown ends the client: Next and NextN then return [ErrClosed], the
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
	now := c.clock.read().ms // even while the wall clock is not believed
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
