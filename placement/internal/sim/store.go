// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/memory"
)

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

func (s *store) tryAcquire(ctx context.Context, c placement.TryAcquire) (placement.Lease, error) {
	here := c.Now
	if s.clocked {
		c.Now = s.now()
	}
	lease, err := s.home.TryAcquire(ctx, c)
	var denied *placement.LockError
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
	return s.home.Release(ctx, placement.Lease{Key: key, Owner: h.Owner, Epoch: h.Epoch})
}

// shownEpoch returns the same epoch for two grants in a row.
func (s *store) shownEpoch(l placement.Lease) int64 {
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

func (s *store) releaseLease(ctx context.Context, lease placement.Lease) error {
	lease.Epoch = s.inHome(lease.Key, lease.Owner, lease.Epoch)
	switch s.world.mutation {
	case ForgetReleases:
		return nil
	case RemoveAnything:
		return s.removeAny(ctx, lease.Key)
	}
	return s.home.Release(ctx, lease)
}

func (s *store) loadEntry(ctx context.Context, key placement.Key) (*placement.ActivationEntry, error) {
	if s.world.mutation == IgnoreEntries {
		return nil, nil
	}
	return s.home.Load(ctx, key)
}

func (s *store) storeEntry(ctx context.Context, lease placement.Lease, entry placement.ActivationEntry) error {
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
