// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"
)

// granted takes the answer of the provider in.
func (c *Client) granted(leases []Lease, err error) {
	now, r := time.Now(), c.clock.read()
	var fresh []*held
	if err == nil {
		fresh, err = c.usable(leases, r, now)
	}
	if err != nil {
		c.failed(err, now)
		if len(fresh) > 0 {
			c.holdings.prune(r.ms)
			c.reconsider(r)
		}
		return
	}
	k := &c.keeper
	c.counts.Acquires++
	k.request, k.failures, k.lastErr = nil, 0, nil
	c.holdings.replace(now, k.anew)
	c.holdings.leases = append(c.holdings.leases, fresh...)
	k.retryAt = now
	if c.holdings.lasting(now) < k.want {
		k.retryAt = now.Add(c.opts.AcquireRetryInterval)
	}
	c.holdings.prune(r.ms)
	c.reconsider(r)
	k.settle()
}

// reconsider ends an era that knows nothing of leases that have just come.
func (c *Client) reconsider(r reading) {
	if p := c.holdings.plan(r.ms, c.layout); p.mode == leased {
		c.change(c.leasedEra(p))
		return
	}
	c.change(c.emptyEra(waiting)) // the next caller decides
}

// failed plans the next try.
func (c *Client) failed(err error, now time.Time) {
	k := &c.keeper
	c.counts.AcquireFailures++
	k.failures++
	k.lastErr = err
	pause := c.backoff(k.failures)
	k.retryAt = now.Add(pause)
	c.note(slog.LevelWarn, "idgen: acquiring a lease failed", "error", err, "failures", k.failures, "retry", pause)
	if k.request != nil && k.request.ThroughputPerMs > firstThroughput && k.tries > 1 {
		k.want = max(k.want/growth, firstThroughput) // perhaps it was too much
		k.growAt = now.Add(c.opts.AcquireRetryMaxInterval)
		k.request = nil
	}
	k.settle()
}

// usable returns the leases that IDs can be made under from now on, or why
// there is none. It queues leases for release that do not suit the client.
func (c *Client) usable(leases []Lease, r reading, now time.Time) (fresh []*held, err error) {
	var faults []error
	for _, l := range leases {
		if err := c.judge(l); err != nil {
			faults = append(faults, err)
			c.keeper.spare = append(c.keeper.spare, c.hold(l, r, now))
			continue
		}
		fresh = append(fresh, c.hold(l, r, now))
	}
	if len(faults) > 0 {
		err = errors.Join(faults...)
		c.counts.RejectedLeases += int64(len(faults))
		c.note(slog.LevelError, "idgen: refused a lease", "error", err)
	}
	if len(fresh) == 0 && err == nil {
		err = errors.New("idgen: the provider granted no lease")
	}
	if len(fresh) > 0 {
		err = c.checkLife(fresh, now)
	}
	if err != nil {
		c.keeper.request = nil // or the answer would be the same
	}
	return fresh, err
}

// judge returns why IDs cannot be made under l. The first lease decides the
// layout unless the options did.
func (c *Client) judge(l Lease) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if layout := l.Layout(); !c.layout.sameFrame(layout) {
		if c.pinned {
			return &CustomEpochMismatchError{Want: c.layout, Got: layout}
		}
		c.adopt(layout)
	}
	c.pinned = true
	return nil
}

// adopt makes layout that of the eras to come. The IDs made before, without a
// lease, were made in the default layout.
func (c *Client) adopt(layout Layout) {
	if e := c.era.Load(); e.word.Load()>>e.shift != 0 {
		c.note(slog.LevelError, "idgen: fallback IDs were made in the default layout, which is not the service's: they do not sort among its IDs, nor tell their time; set Options.Layout",
			"epoch", layout.CustomEpochMs, "bits", fmt.Sprintf("%d+%d+%d+%d", layout.BitReserve, layout.BitTs, layout.BitID, layout.BitSeq))
	}
	c.layout = layout
}

// hold returns l as one of the leases of the client. It counts for about half
// of the life that this machine's clock gives it.
func (c *Client) hold(l Lease, r reading, now time.Time) *held {
	ms := r.ms
	if l.Created <= r.wall && r.wall < l.Expired {
		ms = r.wall
	}
	life := max(time.Duration(min(l.Expired-ms, l.Expired-l.Created))*time.Millisecond, 0)
	part := 0.4 + 0.2*mathrand.Float64()
	return &held{Lease: l, last: l.Created - 1, renew: now.Add(time.Duration(part * float64(life)))}
}

// checkLife returns an error if all leases had ended when they came. They are
// kept for fallback then, and replace nothing.
func (c *Client) checkLife(fresh []*held, now time.Time) error {
	for _, l := range fresh {
		if now.Before(l.renew) {
			return nil
		}
	}
	c.holdings.leases = append(c.holdings.leases, fresh...)
	return fmt.Errorf("idgen: the lease of machine %d ended at %v; this machine's clock is ahead of the provider's by more than a lease lasts",
		fresh[0].ID, time.UnixMilli(fresh[0].Expired).UTC())
}
