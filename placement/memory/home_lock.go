// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// TryAcquire implements driver.Lock. An owner that was evicted gets an ErrStale,
// and so does a claim that comes after a later one of its owner.
func (h *Home) TryAcquire(ctx context.Context, c placement.TryAcquire) (placement.Lease, error) {
	if err := check(ctx, c.Key, c.Owner); err != nil {
		return placement.Lease{}, lockError(c.Key, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isDead(c.Owner) {
		return placement.Lease{}, lockError(c.Key, fmt.Errorf("%s was evicted: %w", c.Owner, placement.ErrStale))
	}
	r := h.rowOf(c.Key)
	switch {
	case r.claim.Owner == c.Owner && r.claim.Request == c.RequestID && !lapsed(r.claim, c.Now):
		// The command is repeated.
	case r.claim.Owner == c.Owner && c.RequestID < r.claim.Request:
		return placement.Lease{}, lockError(c.Key, fmt.Errorf("%w: request %d comes late, after request %d", placement.ErrStale, c.RequestID, r.claim.Request))
	case h.isClaimable(r, c):
		h.grantClaim(r, c)
	default:
		return placement.Lease{}, &placement.LockError{Key: c.Key, Holder: r.holder(), Err: placement.ErrHeld}
	}
	return h.leaseOf(r), nil
}

// isClaimable reports whether the command's owner can have a new claim.
func (h *Home) isClaimable(r *row, c placement.TryAcquire) bool {
	old := r.claim
	restarted := old.Owner.Name == c.Owner.Name && old.Owner.Incarnation <= c.Owner.Incarnation
	return old.Epoch == 0 || restarted || h.isDead(old.Owner) || lapsed(old, c.Now)
}

func (h *Home) grantClaim(r *row, c placement.TryAcquire) {
	h.epoch++
	r.address = c.Address
	r.claim = placement.Lease{Key: c.Key, Owner: c.Owner, Request: c.RequestID, Epoch: h.epoch}
	if !h.options.Kept {
		r.claim.ExpiresAt = c.Now.Add(h.options.TTL)
	}
	h.rows[c.Key] = r
}

// leaseOf returns what the owner of the claim is told.
func (h *Home) leaseOf(r *row) placement.Lease {
	l := r.claim
	if h.options.Kept {
		l.Loaded, l.Kept, l.Entry = true, true, clone(r.entry)
	}
	return l
}

// Release implements driver.Lock. A lease that no other owner has taken since it was
// released, or that was never granted, counts as released already.
func (h *Home) Release(ctx context.Context, lease placement.Lease) error {
	if err := check(ctx, lease.Key, lease.Owner); err != nil {
		return lockError(lease.Key, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rowOf(lease.Key)
	if r.claim.Epoch == 0 {
		return nil
	}
	if !r.hasClaim(lease.Owner, lease.Epoch) {
		return &placement.LockError{Key: lease.Key, Holder: r.holder(), Err: placement.ErrStale}
	}
	h.freeClaim(lease.Key, r)
	return nil
}

// freeClaim ends the claim. Where the claim is the activation, an entry of its owner goes with it;
// an entry of an earlier, dead owner stays for the next claim.
func (h *Home) freeClaim(key placement.Key, r *row) {
	if h.options.Kept && r.entry != nil && r.entry.Owner == r.claim.Owner {
		r.entry = nil
	}
	r.claim, r.address = placement.Lease{}, ""
	h.dropIfEmpty(key)
}
