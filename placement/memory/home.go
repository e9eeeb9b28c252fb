// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// Home is a driver.Lock and a driver.Storage in memory. It is safe for concurrent
// use; no method waits for anything but the others.
type Home struct {
	options Options

	mu    sync.Mutex
	epoch int64 // the last that was granted, of any key
	rows  map[placement.Key]*row
	dead  map[string]int64 // by name, the greatest incarnation that was evicted
}

// row is what the home has for a key; a key without claim and entry has no row.
type row struct {
	claim   placement.Lease // the zero Lease: the key is free
	address string          // of the claim's owner
	entry   *placement.ActivationEntry
}

// New returns an empty home. The error is that of [Options.Validate].
func New(o Options) (*Home, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Home{options: o.withDefaults(), rows: map[placement.Key]*row{}, dead: map[string]int64{}}, nil
}

// Evict says that an owner, and with it each earlier incarnation of its name, is
// dead: it is granted nothing and stores nothing any more, and others can claim
// what it has. What it has stored stays for them.
func (h *Home) Evict(owner placement.Owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dead[owner.Name] = max(h.dead[owner.Name], owner.Incarnation)
}

// Holder returns the owner of the claim on a key; false if the key is free. A
// lock that has lapsed counts until it is claimed anew.
func (h *Home) Holder(key placement.Key) (placement.Holder, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rows[key]
	if r == nil || r.claim.Epoch == 0 {
		return placement.Holder{}, false
	}
	return r.holder(), true
}

// Len returns how many keys have a claim or an entry.
func (h *Home) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.rows)
}

func (r *row) holder() placement.Holder {
	return placement.Holder{Owner: r.claim.Owner, Address: r.address, Epoch: r.claim.Epoch}
}

// hasClaim reports whether the claim is that of the owner and the epoch.
func (r *row) hasClaim(owner placement.Owner, epoch int64) bool {
	return epoch != 0 && r.claim.Epoch == epoch && r.claim.Owner == owner
}

func (h *Home) isDead(owner placement.Owner) bool { return owner.Incarnation <= h.dead[owner.Name] }

// rowOf returns the row of the key, which the caller may put into h.rows.
func (h *Home) rowOf(key placement.Key) *row {
	if r := h.rows[key]; r != nil {
		return r
	}
	return &row{}
}

// dropIfEmpty drops the row of a key that has nothing any more.
func (h *Home) dropIfEmpty(key placement.Key) {
	if r := h.rows[key]; r != nil && r.claim.Epoch == 0 && r.entry == nil {
		delete(h.rows, key)
	}
}

func lapsed(l placement.Lease, now time.Time) bool {
	return !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt)
}

// clone returns a copy that shares nothing with the entry.
func clone(e *placement.ActivationEntry) *placement.ActivationEntry {
	if e == nil {
		return nil
	}
	c := *e
	c.Record.Snapshot = slices.Clone(c.Record.Snapshot)
	return &c
}
