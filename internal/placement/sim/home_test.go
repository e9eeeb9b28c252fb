// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

// home is the store's home of locks and entries, as one process reaches it: a
// driver.Lock and a driver.Storage.
type home struct{ process *process }

// doRequest does something in the home, unless the process does not reach it. If the reply is lost
// what was done stays.
func (h home) doRequest(what string, key placement.Key, do func() (any, error)) error {
	w, p := h.process.world, h.process
	if w.fate.refused {
		w.tracef("%v: %s %v → it takes too long", p, what, key)
		return fmt.Errorf("%w: it takes too long", placement.ErrUnavailable)
	}
	if !w.reachesStore(p.machine) {
		w.tracef("%v: %s %v → the store is not reached", p, what, key)
		return fmt.Errorf("%w: it is not reached", placement.ErrUnavailable)
	}
	found, err := do()
	if w.fate.lost {
		w.oracle.counts.LostReplies++
		w.fate.silent = w.fate.dice.chance(0.5)
		w.tracef("%v: %s %v → %v, and the reply is lost", p, what, key, outcome{found, err})
		return fmt.Errorf("%w: the reply is lost", placement.ErrUnavailable)
	}
	w.tracef("%v: %s %v → %v", p, what, key, outcome{found, err})
	return err
}

// TryAcquire implements driver.Lock.
func (h home) TryAcquire(ctx context.Context, c core.TryAcquire) (lease core.Lease, err error) {
	w := h.process.world
	err = h.doRequest("TryAcquire", c.Key, func() (any, error) {
		lease, err = w.store.tryAcquire(ctx, c)
		if err != nil {
			return "", err
		}
		w.oracle.checkGrant(c.Key, grant{lease.Epoch, lease.Owner, lease.Request, h.process})
		return fmt.Sprintf("epoch %d for request %d", lease.Epoch, lease.Request), nil
	})
	if err != nil {
		return core.Lease{}, err
	}
	return lease, nil
}

// Release implements driver.Lock.
func (h home) Release(ctx context.Context, lease core.Lease) error {
	return h.doRequest("Release", lease.Key, func() (any, error) {
		return fmt.Sprintf("epoch %d", lease.Epoch), h.process.world.store.releaseLease(ctx, lease)
	})
}

// Load implements driver.Storage.
func (h home) Load(ctx context.Context, key placement.Key) (entry *core.ActivationEntry, err error) {
	err = h.doRequest("Load", key, func() (any, error) {
		entry, err = h.process.world.store.loadEntry(ctx, key)
		if entry == nil {
			return "no entry", err
		}
		return fmt.Sprintf("an entry of %v, epoch %d", entry.Owner, entry.Epoch), err
	})
	if err != nil {
		return nil, err
	}
	return entry, nil
}

// Store implements driver.Storage.
func (h home) Store(ctx context.Context, lease core.Lease, entry core.ActivationEntry) error {
	w := h.process.world
	err := h.doRequest("Store", lease.Key, func() (any, error) {
		return fmt.Sprintf("epoch %d", entry.Epoch), w.store.storeEntry(ctx, lease, entry)
	})
	if w.mutation == HideStoreFailures {
		return nil
	}
	return err
}

// Remove implements driver.Storage.
func (h home) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	return h.doRequest("Remove", key, func() (any, error) {
		return fmt.Sprintf("epoch %d", epoch), h.process.world.store.removeEntry(ctx, key, owner, epoch)
	})
}

// lockTTL is how long a lock lasts that lapses.
const lockTTL = 4 * time.Second

// store is the home that all processes share, with the mutations of a home. A method is done
// at one instant of true time.
type store struct {
	world *world
	home  Store
	inner *memory.Home // if it is that
	kept  bool
	// clocked says that locks lapse by the store's clock, which jumps at
	// recoveries. Otherwise they lapse by the clocks of the claimants.
	clocked bool
	jumped  time.Duration

	grants map[placement.Key]int64 // with ReuseEpochs: how many there were
	real   map[shownGrant]int64    // with ReuseEpochs: the epoch in the home
}

type shownGrant struct {
	key   placement.Key
	owner placement.Owner
	epoch int64
}

func newStore(w *world, kept, clocked bool) (*store, error) {
	s := &store{world: w, kept: kept, clocked: clocked && !kept, grants: map[placement.Key]int64{}, real: map[shownGrant]int64{}}
	var err error
	if w.options.Open != nil {
		s.home, err = w.options.Open(w.registry.isAlive)
		return s, err
	}
	o := memory.Options{Kept: kept}
	if !kept {
		o.TTL = lockTTL
	}
	s.inner, err = memory.New(o)
	s.home = registers{s.inner, s, map[placement.Key]*register{}}
	return s, err
}

// evictOwner tells the home that an owner is dead, unless it sees that by itself.
func (s *store) evictOwner(o placement.Owner) {
	if s.inner != nil && s.world.mutation != ReuseIncarnations {
		s.inner.Evict(o)
	}
}

func (s *store) now() time.Time { return epoch.Add(s.world.Now() + s.jumped) }

func (s *store) tryAcquire(ctx context.Context, c core.TryAcquire) (core.Lease, error) {
	here := c.Now
	if s.clocked {
		c.Now = s.now()
	}
	lease, err := s.home.TryAcquire(ctx, c)
	var denied *core.LockError
	if s.world.mutation == TakeFromLiving && errors.As(err, &denied) && !denied.Holder.Owner.IsZero() {
		if err = s.takeClaim(ctx, c.Key, denied.Holder); err == nil {
			lease, err = s.home.TryAcquire(ctx, c)
		}
	}
	if err == nil && s.clocked {
		lease.ExpiresAt = here.Add(lockTTL) // by the coordinator's clock
	}
	if err == nil && s.world.mutation == ReuseEpochs {
		lease.Epoch = s.shownEpoch(lease)
	}
	return lease, err
}

// takeClaim ends the claim of a holder, whatever it is.
func (s *store) takeClaim(ctx context.Context, key placement.Key, h placement.Holder) error {
	return s.home.Release(ctx, core.Lease{Key: key, Owner: h.Owner, Epoch: h.Epoch})
}

// shownEpoch returns the same epoch for two grants in a row.
func (s *store) shownEpoch(l core.Lease) int64 {
	for known, real := range s.real {
		if known.key == l.Key && known.owner == l.Owner && real == l.Epoch {
			return known.epoch
		}
	}
	s.grants[l.Key]++
	epoch := (s.grants[l.Key] + 1) / 2
	s.real[shownGrant{l.Key, l.Owner, epoch}] = l.Epoch
	return epoch
}

// inHome returns the home's epoch for one that an owner was shown.
func (s *store) inHome(key placement.Key, o placement.Owner, epoch int64) int64 {
	if real, known := s.real[shownGrant{key, o, epoch}]; known {
		return real
	}
	return epoch
}

func (s *store) releaseLease(ctx context.Context, lease core.Lease) error {
	lease.Epoch = s.inHome(lease.Key, lease.Owner, lease.Epoch)
	switch s.world.mutation {
	case ForgetReleases:
		return nil
	case RemoveAnything:
		return s.removeAny(ctx, lease.Key)
	}
	return s.home.Release(ctx, lease)
}

func (s *store) loadEntry(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
	if s.world.mutation == IgnoreEntries {
		return nil, nil
	}
	return s.home.Load(ctx, key)
}

func (s *store) storeEntry(ctx context.Context, lease core.Lease, entry core.ActivationEntry) error {
	lease.Epoch = s.inHome(lease.Key, lease.Owner, lease.Epoch)
	entry.Epoch = lease.Epoch
	if s.clocked {
		entry.ObservedAt = s.now()
	}
	return s.home.Store(ctx, lease, entry)
}

func (s *store) removeEntry(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	switch s.world.mutation {
	case ForgetReleases:
		return nil
	case RemoveAnything:
		return s.removeAny(ctx, key)
	}
	return s.home.Remove(ctx, key, owner, s.inHome(key, owner, epoch))
}

// removeAny removes what the key has, regarding neither owner nor epoch.
func (s *store) removeAny(ctx context.Context, key placement.Key) error {
	if h, held := s.home.Holder(key); held {
		if err := s.takeClaim(ctx, key, h); err != nil {
			return err
		}
	}
	if entry, err := s.home.Load(ctx, key); err != nil || entry == nil {
		return err
	} else {
		return s.home.Remove(ctx, key, entry.Owner, entry.Epoch)
	}
}

// hasClaim returns the holder of a key, and whether that is an owner under an epoch.
func (s *store) hasClaim(key placement.Key, o placement.Owner, epoch int64) (placement.Holder, bool) {
	h, held := s.home.Holder(key)
	return h, held && h.Owner == o && h.Epoch == s.inHome(key, o, epoch)
}
