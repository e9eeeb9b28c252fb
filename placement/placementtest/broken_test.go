// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"context"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
)

// patchedHome is a home some of whose methods are replaced.
type patchedHome struct {
	driver.Lock
	driver.Storage
	tryAcquire func(context.Context, placement.TryAcquire) (placement.Lease, error)
	release    func(context.Context, placement.Lease) error
	load       func(context.Context, placement.Key) (*placement.ActivationEntry, error)
	store      func(context.Context, placement.Lease, placement.ActivationEntry) error
	remove     func(context.Context, placement.Key, placement.Owner, int64) error
}

func (b *patchedHome) TryAcquire(ctx context.Context, c placement.TryAcquire) (placement.Lease, error) {
	return b.tryAcquire(ctx, c)
}

func (b *patchedHome) Release(ctx context.Context, l placement.Lease) error { return b.release(ctx, l) }

func (b *patchedHome) Load(ctx context.Context, key placement.Key) (*placement.ActivationEntry, error) {
	return b.load(ctx, key)
}

func (b *patchedHome) Store(ctx context.Context, l placement.Lease, e placement.ActivationEntry) error {
	return b.store(ctx, l, e)
}

func (b *patchedHome) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	return b.remove(ctx, key, owner, epoch)
}

// breakWith opens a right home and lets damage replace methods and hooks.
func breakWith(open func(testing.TB) Home, damage func(*Home, *patchedHome)) func(testing.TB) Home {
	return func(t testing.TB) Home {
		h := open(t)
		b := &patchedHome{
			Lock: h.Lock, Storage: h.Storage, tryAcquire: h.Lock.TryAcquire, release: h.Lock.Release,
			load: h.Storage.Load, store: h.Storage.Store, remove: h.Storage.Remove,
		}
		h.Lock, h.Storage = b, b
		damage(&h, b)
		return h
	}
}

func breakLocks(damage func(*Home, *patchedHome)) []func(testing.TB) Home {
	return []func(testing.TB) Home{breakWith(locks, damage)}
}

func breakKept(damage func(*Home, *patchedHome)) []func(testing.TB) Home {
	return []func(testing.TB) Home{breakWith(kept, damage)}
}

func breakBoth(damage func(*Home, *patchedHome)) []func(testing.TB) Home {
	return append(breakLocks(damage), breakKept(damage)...)
}
