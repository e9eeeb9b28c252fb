// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

// onClaim replaces TryAcquire; the replacement gets the right one.
func onClaim(f func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error)) func(*Home, *patchedHome) {
	return func(_ *Home, b *patchedHome) {
		right := b.tryAcquire
		b.tryAcquire = func(ctx context.Context, c core.TryAcquire) (core.Lease, error) { return f(ctx, c, right) }
	}
}

type claimFunc = func(context.Context, core.TryAcquire) (core.Lease, error)

// forge returns a lease that nothing has granted.
func forge(c core.TryAcquire, like placement.Holder) core.Lease {
	return core.Lease{Key: c.Key, Owner: c.Owner, Request: c.RequestID, Epoch: like.Epoch + 1}
}

var grantsAll = onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
	l, err := right(ctx, c)
	var held *core.LockError
	if errors.As(err, &held) && errors.Is(err, placement.ErrHeld) {
		return forge(c, held.Holder), nil
	}
	return l, err
})

func racy(h *Home, b *patchedHome) {
	var count atomic.Int32
	onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
		l, err := right(ctx, c)
		var held *core.LockError
		if errors.As(err, &held) && count.Add(1)%20 == 0 {
			return forge(c, held.Holder), nil
		}
		return l, err
	})(h, b)
}

var noWinner = onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
	l, err := right(ctx, c)
	if errors.Is(err, placement.ErrHeld) {
		err = &core.LockError{Key: c.Key, Err: placement.ErrHeld}
	}
	return l, err
})

var deadClaims = onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
	l, err := right(ctx, c)
	if errors.Is(err, placement.ErrStale) {
		return forge(c, placement.Holder{Epoch: 1}), nil
	}
	return l, err
})

var someDeadHoldOn = onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
	if c.Key.ID == "150" && c.Owner.Name == "b" {
		return core.Lease{}, &core.LockError{Key: c.Key, Err: placement.ErrHeld}
	}
	return right(ctx, c)
})

func neverLapses(h *Home, b *patchedHome) {
	var first time.Time
	onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
		if first.IsZero() {
			first = c.Now
		}
		c.Now = first
		return right(ctx, c)
	})(h, b)
}

var lapsesLate = onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
	c.Now = c.Now.Add(-1)
	l, err := right(ctx, c)
	l.ExpiresAt = l.ExpiresAt.Add(1)
	return l, err
})

func ownRefused(h *Home, b *patchedHome) {
	granted := map[placement.Key]core.Lease{}
	onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
		if old, held := granted[c.Key]; held && old.Owner == c.Owner && old.Request != c.RequestID {
			return core.Lease{}, &core.LockError{Key: c.Key, Err: placement.ErrHeld}
		}
		l, err := right(ctx, c)
		granted[c.Key] = l
		return l, err
	})(h, b)
}

func oldStands(h *Home, b *patchedHome) {
	granted := map[placement.Key]core.Lease{}
	onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
		if old := granted[c.Key]; old.Owner == c.Owner {
			old.Request = c.RequestID
			return old, nil
		}
		l, err := right(ctx, c)
		if err == nil {
			granted[c.Key] = l
		}
		return l, err
	})(h, b)
}

func everyClaimNew(h *Home, b *patchedHome) {
	var count atomic.Uint64
	onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
		id := c.RequestID
		c.RequestID = placement.RequestID(1000 + count.Add(1))
		l, err := right(ctx, c)
		l.Request = id
		return l, err
	})(h, b)
}

func lateClaimsCount(h *Home, b *patchedHome) {
	var count atomic.Uint64
	onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
		id := c.RequestID
		l, err := right(ctx, c)
		if errors.Is(err, placement.ErrStale) {
			c.RequestID = placement.RequestID(1000 + count.Add(1))
			l, err = right(ctx, c)
			l.Request = id
		}
		return l, err
	})(h, b)
}

func requestsAlone(h *Home, b *patchedHome) {
	granted := map[placement.Key]core.Lease{}
	onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
		if old, held := granted[c.Key]; held && old.Request == c.RequestID {
			old.Owner = c.Owner
			return old, nil
		}
		l, err := right(ctx, c)
		granted[c.Key] = l
		return l, err
	})(h, b)
}

var takesAnyOwner = onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
	owner := c.Owner
	if owner.Name == "" || owner.Incarnation < 1 {
		c.Owner = placement.Owner{Name: "nameless", Incarnation: 1}
	}
	l, err := right(ctx, c)
	l.Owner = owner
	return l, err
})

var deaf = onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
	return right(context.WithoutCancel(ctx), c)
})

func neverReleases(_ *Home, b *patchedHome) {
	b.release = func(context.Context, core.Lease) error { return nil }
}

func releaseOnce(_ *Home, b *patchedHome) {
	right, done := b.release, map[int64]bool{}
	b.release = func(ctx context.Context, l core.Lease) error {
		if done[l.Epoch] {
			return &core.LockError{Key: l.Key, Err: placement.ErrStale}
		}
		err := right(ctx, l)
		done[l.Epoch] = true
		return err
	}
}

func releasesBlindly(h *Home, b *patchedHome) {
	var last core.Lease
	onClaim(func(ctx context.Context, c core.TryAcquire, right claimFunc) (core.Lease, error) {
		l, err := right(ctx, c)
		if err == nil {
			last = l
		}
		return l, err
	})(h, b)
	right := b.release
	b.release = func(ctx context.Context, l core.Lease) error {
		if err := right(ctx, l); !errors.Is(err, placement.ErrStale) {
			return err
		}
		return right(ctx, last)
	}
}

func releaseClears(_ *Home, b *patchedHome) {
	right := b.release
	b.release = func(ctx context.Context, l core.Lease) error {
		err := right(ctx, l)
		if e, _ := b.load(ctx, l.Key); err == nil && e != nil {
			return b.remove(ctx, l.Key, e.Owner, e.Epoch)
		}
		return err
	}
}

// epochsAnew lets the epochs of a key begin at 1 again after a removal.
func epochsAnew(_ *Home, b *patchedHome) {
	claim, release, load, store, remove := b.tryAcquire, b.release, b.load, b.store, b.remove
	var mu sync.Mutex
	var offset, last int64
	shift := func(e *core.ActivationEntry) *core.ActivationEntry {
		if e != nil {
			e.Epoch -= offset
		}
		return e
	}
	b.tryAcquire = func(ctx context.Context, c core.TryAcquire) (core.Lease, error) {
		mu.Lock()
		defer mu.Unlock()
		l, err := claim(ctx, c)
		last = max(last, l.Epoch)
		l.Epoch -= offset
		l.Entry = shift(l.Entry)
		return l, err
	}
	b.release = func(ctx context.Context, l core.Lease) error {
		l.Epoch += offset
		return release(ctx, l)
	}
	b.load = func(ctx context.Context, key placement.Key) (*core.ActivationEntry, error) {
		e, err := load(ctx, key)
		return shift(e), err
	}
	b.store = func(ctx context.Context, l core.Lease, e core.ActivationEntry) error {
		l.Epoch += offset
		e.Epoch += offset
		return store(ctx, l, e)
	}
	b.remove = func(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
		err := remove(ctx, key, owner, epoch+offset)
		offset = last
		return err
	}
}
