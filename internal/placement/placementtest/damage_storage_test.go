// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
)

func apart(h *Home, _ *patchedHome) {
	home, err := memory.New(memory.Options{Kept: h.TTL == 0})
	if err != nil {
		panic(err)
	}
	h.Second = &Home{Lock: home, Storage: home}
}

// onStore changes what is stored.
func onStore(change func(*core.ActivationEntry)) func(*Home, *patchedHome) {
	return func(_ *Home, b *patchedHome) {
		right := b.store
		b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
			change(&e)
			return right(ctx, l, e)
		}
	}
}

var (
	forgetsSnapshots = onStore(func(e *core.ActivationEntry) { e.Record.Snapshot = nil })
	roundsTimes      = onStore(func(e *core.ActivationEntry) { e.ObservedAt = e.ObservedAt.Truncate(time.Millisecond) })
	cutsSnapshots    = onStore(func(e *core.ActivationEntry) {
		e.Record.Snapshot = e.Record.Snapshot[:min(len(e.Record.Snapshot), memory.DefaultMaxSnapshot)]
	})
)

func forgetsEntries(_ *Home, b *patchedHome) {
	b.load = func(context.Context, placement.Key) (*core.ActivationEntry, error) { return nil, nil }
}

func emptyEntry(_ *Home, b *patchedHome) {
	right := b.load
	b.load = func(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
		e, err := right(ctx, key)
		if e == nil {
			e = &core.ActivationEntry{}
		}
		return e, err
	}
}

// storesBlindly stores what the right home refuses as stale.
func storesBlindly(_ *Home, b *patchedHome) {
	load, store := b.load, b.store
	var mu sync.Mutex
	refused := map[placement.Key]*core.ActivationEntry{}
	b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
		mu.Lock()
		defer mu.Unlock()
		err := store(ctx, l, e)
		delete(refused, l.Key)
		if errors.Is(err, placement.ErrStale) {
			refused[l.Key] = &e
			return nil
		}
		return err
	}
	b.load = func(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
		mu.Lock()
		defer mu.Unlock()
		if e := refused[key]; e != nil {
			return e, nil
		}
		return load(ctx, key)
	}
}

func storesWhenLapsed(_ *Home, b *patchedHome) {
	right := b.store
	b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
		err := right(ctx, l, e)
		if errors.Is(err, placement.ErrStale) {
			e.ObservedAt = e.ObservedAt.Add(-memory.DefaultTTL)
			err = right(ctx, l, e)
		}
		return err
	}
}

func storeOnce(_ *Home, b *patchedHome) {
	right, done := b.store, map[int64]bool{}
	b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
		if done[l.Epoch] {
			return &core.StorageError{Key: l.Key, Op: "store", Err: placement.ErrStale}
		}
		err := right(ctx, l, e)
		done[l.Epoch] = true
		return err
	}
}

func writesThenFails(_ *Home, b *patchedHome) {
	right := b.store
	b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
		err := right(ctx, l, e)
		if errors.Is(err, placement.ErrTooLarge) {
			e.Record.Snapshot = e.Record.Snapshot[:1]
			return errors.Join(err, right(ctx, l, e))
		}
		return err
	}
}

// sharesMemory hands out the memory of what was stored.
func sharesMemory(_ *Home, b *patchedHome) {
	load, store := b.load, b.store
	shared := map[int64][]byte{}
	b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
		shared[e.Epoch] = e.Record.Snapshot
		return store(ctx, l, e)
	}
	b.load = func(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
		e, err := load(ctx, key)
		if e != nil {
			e.Record.Snapshot = shared[e.Epoch]
		}
		return e, err
	}
}

func neverRemoves(_ *Home, b *patchedHome) {
	b.remove = func(context.Context, placement.Key, placement.Owner, int64) error { return nil }
}

func removeOnce(_ *Home, b *patchedHome) {
	right, done := b.remove, map[int64]bool{}
	b.remove = func(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
		if done[epoch] {
			return &core.StorageError{Key: key, Op: "remove", Err: placement.ErrStale}
		}
		err := right(ctx, key, owner, epoch)
		done[epoch] = true
		return err
	}
}

// removesIf removes, of what the right home refuses as stale, what alike accepts.
func removesIf(alike func(e *core.ActivationEntry, owner placement.Owner, epoch int64) bool) func(*Home, *patchedHome) {
	return func(_ *Home, b *patchedHome) {
		right := b.remove
		b.remove = func(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
			err := right(ctx, key, owner, epoch)
			if !errors.Is(err, placement.ErrStale) {
				return err
			}
			if e, _ := b.load(ctx, key); e != nil && alike(e, owner, epoch) {
				return right(ctx, key, e.Owner, e.Epoch)
			}
			return err
		}
	}
}

var (
	removesBlindly = removesIf(func(*core.ActivationEntry, placement.Owner, int64) bool { return true })
	removesByOwner = removesIf(func(e *core.ActivationEntry, owner placement.Owner, _ int64) bool { return e.Owner == owner })
	namesAreOwners = removesIf(func(e *core.ActivationEntry, owner placement.Owner, epoch int64) bool {
		return e.Owner.Name == owner.Name && e.Epoch == epoch
	})
)

func deadHoldOn(h *Home, _ *patchedHome) { h.Kill = func(placement.Owner) {} }

func deathTakesAll(h *Home, b *patchedHome) {
	kill := h.Kill
	h.Kill = func(owner placement.Owner) {
		ctx := context.Background()
		if e, _ := b.load(ctx, key); e != nil {
			if err := b.remove(ctx, key, e.Owner, e.Epoch); err != nil {
				panic(err)
			}
		}
		kill(owner)
	}
}

func takesAnyKey(_ *Home, b *patchedHome) {
	right := b.load
	b.load = func(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
		if key.Validate() != nil {
			return nil, nil
		}
		return right(ctx, key)
	}
}

// namesAnotherKey refuses each bad key, with the error of another one.
func namesAnotherKey(_ *Home, b *patchedHome) {
	right := b.load
	b.load = func(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
		if key.Validate() != nil {
			return nil, placement.Key{Kind: "another"}.Validate()
		}
		return right(ctx, key)
	}
}

// mapKeys lets the home see other keys.
func mapKeys(to func(placement.Key) placement.Key) func(*Home, *patchedHome) {
	return func(h *Home, b *patchedHome) {
		load, store, remove := b.load, b.store, b.remove
		onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
			key := c.Key
			c.Key = to(key)
			l, err := right(ctx, c)
			l.Key = key
			return l, err
		})(h, b)
		b.load = func(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
			return load(ctx, to(key))
		}
		b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
			l.Key = to(l.Key)
			return store(ctx, l, e)
		}
		b.remove = func(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
			return remove(ctx, to(key), owner, epoch)
		}
	}
}

var (
	foldsCases = mapKeys(func(k placement.Key) placement.Key {
		return placement.Key{Kind: strings.ToLower(k.Kind), ID: strings.ToLower(k.ID)}
	})
	joinsKindAndID = mapKeys(func(k placement.Key) placement.Key {
		if len(k.ID) > 100 {
			return k
		}
		return placement.Key{Kind: "thing", ID: k.Kind + k.ID}
	})
)

func plainErrors(_ *Home, b *patchedHome) {
	release, store, remove := b.release, b.store, b.remove
	plain := func(err error) error {
		if err != nil {
			err = errors.New(err.Error())
		}
		return err
	}
	b.release = func(ctx context.Context, l core.Lease) error { return plain(release(ctx, l)) }
	b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
		return plain(store(ctx, l, e))
	}
	b.remove = func(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
		return plain(remove(ctx, key, owner, epoch))
	}
}
