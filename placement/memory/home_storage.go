// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// Load implements driver.Storage. The entry is the caller's.
func (h *Home) Load(ctx context.Context, key placement.Key) (*placement.ActivationEntry, error) {
	if err := checkKey(ctx, key); err != nil {
		return nil, storageError(key, "load", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return clone(h.rowOf(key).entry), nil
}

// Store implements driver.Storage.
func (h *Home) Store(ctx context.Context, lease placement.Lease, entry placement.ActivationEntry) error {
	err := check(ctx, lease.Key, lease.Owner)
	if size := len(entry.Record.Snapshot); err == nil && size > h.options.MaxSnapshot {
		err = fmt.Errorf("%w: it has %d bytes; at most %d are possible", placement.ErrTooLarge, size, h.options.MaxSnapshot)
	}
	if err == nil {
		err = h.storeEntry(lease, entry)
	}
	return storageError(lease.Key, "store", err)
}

func (h *Home) storeEntry(lease placement.Lease, entry placement.ActivationEntry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rowOf(lease.Key)
	switch {
	case entry.Owner != lease.Owner || entry.Epoch != lease.Epoch:
		return fmt.Errorf("%w: the entry is of %s, epoch %d; the lease of %s, epoch %d", placement.ErrStale, entry.Owner, entry.Epoch, lease.Owner, lease.Epoch)
	case !r.hasClaim(lease.Owner, lease.Epoch):
		return fmt.Errorf("%w: epoch %d of %s", placement.ErrStale, lease.Epoch, lease.Owner)
	case h.isDead(lease.Owner):
		return fmt.Errorf("%w: %s was evicted", placement.ErrStale, lease.Owner)
	case lapsed(r.claim, entry.ObservedAt):
		return fmt.Errorf("%w: it has lapsed at %v", placement.ErrStale, r.claim.ExpiresAt)
	}
	r.entry = clone(&entry)
	return nil
}

// Remove implements driver.Storage.
func (h *Home) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	err := check(ctx, key, owner)
	if err == nil {
		err = h.removeEntry(key, owner, epoch)
	}
	return storageError(key, "remove", err)
}

func (h *Home) removeEntry(key placement.Key, owner placement.Owner, epoch int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rowOf(key)
	switch own := r.entry != nil && r.entry.Owner == owner && r.entry.Epoch == epoch; {
	case h.options.Kept && r.hasClaim(owner, epoch):
		h.freeClaim(key, r)
	case own: // in Kept mode below the claim of another, which stays
		r.entry = nil
		h.dropIfEmpty(key)
	case r.entry != nil:
		return fmt.Errorf("%w: the entry is of %s, epoch %d", placement.ErrStale, r.entry.Owner, r.entry.Epoch)
	case h.options.Kept && r.claim.Epoch != 0:
		return fmt.Errorf("%w: %s has the key under epoch %d", placement.ErrStale, r.claim.Owner, r.claim.Epoch)
	}
	return nil
}
