// SPDX-License-Identifier: Apache-2.0

// Package memory keeps locks and entries in the memory of one process: for tests,
// simulations and programs that have all their members in that process.
//
//	home, err := memory.New(memory.Options{})
//	d, err := driver.New(coordinator, driver.Homes{Lock: home, Storage: home, Executor: executor}, driver.Options{})
//
// All drivers of a cluster use the same [Home]. It has two modes:
//
//   - By default a claim is a lock that lapses after [Options].TTL, and the entry
//     is loaded, stored and removed apart from it, as in the specification:
//     a coordinator loads after the claim and releases after the store.
//   - With [Options].Kept the claim is the activation, as in package kvstore: it
//     carries the entry, lasts as long as its owner lives, and [Home.Remove] ends
//     it. [Home.Evict] says that an owner is dead.
//
// # Time
//
// A home reads no clock. A lock lapses when a command's Now, or the ObservedAt of an
// entry to be stored, is at or after the lock's ExpiresAt. A clock that is ahead can
// therefore take a lock early; the epoch then refuses what the earlier owner stores.
//
// # Epochs
//
// One counter gives the epochs of all keys. So a free key takes no memory, and its
// next epoch is still greater than its earlier ones. The counter begins at 1 in
// every Home: epochs of two homes cannot be compared.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// The default values of [Options].
const (
	DefaultTTL         = 30 * time.Second
	DefaultMaxSnapshot = 1 << 20
)

// Options configure a [Home]. The zero value is ready to use.
type Options struct {
	// TTL is how long a lock lasts after its claim; it is not renewed. It should be
	// longer than a coordinator's RequestTimeout. The default value is DefaultTTL,
	// 30 s. It must be zero with Kept.
	TTL time.Duration
	// Kept makes the claim the activation, which lasts as long as its owner lives.
	Kept bool
	// MaxSnapshot is how many bytes the snapshot of a record has at most. The
	// default value is DefaultMaxSnapshot, 1 MiB.
	MaxSnapshot int
}

// Validate reports all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	if o.TTL < 0 {
		faults = append(faults, fmt.Errorf("memory: TTL is %v, must not be negative", o.TTL))
	}
	if o.Kept && o.TTL != 0 {
		faults = append(faults, fmt.Errorf("memory: TTL is %v, but with Kept a claim lasts as long as its owner lives", o.TTL))
	}
	if o.MaxSnapshot < 0 {
		faults = append(faults, fmt.Errorf("memory: MaxSnapshot is %d, must not be negative", o.MaxSnapshot))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	o.MaxSnapshot = cmp.Or(o.MaxSnapshot, DefaultMaxSnapshot)
	if !o.Kept {
		o.TTL = cmp.Or(o.TTL, DefaultTTL)
	}
	return o
}

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
	claim   core.Lease // the zero Lease: the key is free
	address string     // of the claim's owner
	entry   *core.ActivationEntry
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

func lapsed(l core.Lease, now time.Time) bool {
	return !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt)
}

// clone returns a copy that shares nothing with the entry.
func clone(e *core.ActivationEntry) *core.ActivationEntry {
	if e == nil {
		return nil
	}
	c := *e
	c.Record.Snapshot = slices.Clone(c.Record.Snapshot)
	return &c
}

// TryAcquire implements driver.Lock. An owner that was evicted gets an ErrStale,
// and so does a claim that comes after a later one of its owner.
func (h *Home) TryAcquire(ctx context.Context, c core.TryAcquire) (core.Lease, error) {
	if err := check(ctx, c.Key, c.Owner); err != nil {
		return core.Lease{}, lockError(c.Key, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isDead(c.Owner) {
		return core.Lease{}, lockError(c.Key, fmt.Errorf("%s was evicted: %w", c.Owner, placement.ErrStale))
	}
	r := h.rowOf(c.Key)
	switch {
	case r.claim.Owner == c.Owner && r.claim.Request == c.RequestID && !lapsed(r.claim, c.Now):
		// The command is repeated.
	case r.claim.Owner == c.Owner && c.RequestID < r.claim.Request:
		return core.Lease{}, lockError(c.Key, fmt.Errorf("%w: request %d comes late, after request %d", placement.ErrStale, c.RequestID, r.claim.Request))
	case h.isClaimable(r, c):
		h.grantClaim(r, c)
	default:
		return core.Lease{}, &core.LockError{Key: c.Key, Holder: r.holder(), Err: placement.ErrHeld}
	}
	return h.leaseOf(r), nil
}

// isClaimable reports whether the command's owner can have a new claim.
func (h *Home) isClaimable(r *row, c core.TryAcquire) bool {
	old := r.claim
	restarted := old.Owner.Name == c.Owner.Name && old.Owner.Incarnation <= c.Owner.Incarnation
	return old.Epoch == 0 || restarted || h.isDead(old.Owner) || lapsed(old, c.Now)
}

func (h *Home) grantClaim(r *row, c core.TryAcquire) {
	h.epoch++
	r.address = c.Address
	r.claim = core.Lease{Key: c.Key, Owner: c.Owner, Request: c.RequestID, Epoch: h.epoch}
	if !h.options.Kept {
		r.claim.ExpiresAt = c.Now.Add(h.options.TTL)
	}
	h.rows[c.Key] = r
}

// leaseOf returns what the owner of the claim is told.
func (h *Home) leaseOf(r *row) core.Lease {
	l := r.claim
	if h.options.Kept {
		l.Loaded, l.Kept, l.Entry = true, true, clone(r.entry)
	}
	return l
}

// Release implements driver.Lock. A lease that no other owner has taken since it was
// released, or that was never granted, counts as released already.
func (h *Home) Release(ctx context.Context, lease core.Lease) error {
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
		return &core.LockError{Key: lease.Key, Holder: r.holder(), Err: placement.ErrStale}
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
	r.claim, r.address = core.Lease{}, ""
	h.dropIfEmpty(key)
}

// Load implements driver.Storage. The entry is the caller's.
func (h *Home) Load(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
	if err := checkKey(ctx, key); err != nil {
		return nil, storageError(key, "load", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return clone(h.rowOf(key).entry), nil
}

// Store implements driver.Storage.
func (h *Home) Store(ctx context.Context, lease core.Lease, entry core.ActivationEntry) error {
	err := check(ctx, lease.Key, lease.Owner)
	if size := len(entry.Record.Snapshot); err == nil && size > h.options.MaxSnapshot {
		err = fmt.Errorf("%w: it has %d bytes; at most %d are possible", placement.ErrTooLarge, size, h.options.MaxSnapshot)
	}
	if err == nil {
		err = h.storeEntry(lease, entry)
	}
	return storageError(lease.Key, "store", err)
}

func (h *Home) storeEntry(lease core.Lease, entry core.ActivationEntry) error {
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

// check returns why nothing can be done for the owner.
func check(ctx context.Context, key placement.Key, owner placement.Owner) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	if err := owner.Validate(); err != nil {
		return fmt.Errorf("memory: the owner %.80q is invalid: %w", owner, err)
	}
	return nil
}

func checkKey(ctx context.Context, key placement.Key) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", placement.ErrUnavailable, context.Cause(ctx))
	}
	return key.Validate()
}

// lockError returns the error of a lock for what went wrong.
func lockError(key placement.Key, err error) error {
	if err == nil || errors.Is(err, placement.ErrInvalidKey) {
		return err
	}
	return &core.LockError{Key: key, Err: err}
}

// storageError returns the error of a storage for what went wrong.
func storageError(key placement.Key, op string, err error) error {
	if err == nil || errors.Is(err, placement.ErrInvalidKey) {
		return err
	}
	return &core.StorageError{Key: key, Op: op, Err: err}
}
