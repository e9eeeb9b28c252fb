// SPDX-License-Identifier: Apache-2.0

package placementtest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
	"github.com/kazahana-db/kazahana/placement/memory"
)

// locks is a right home whose leases lapse, with every hook that it can have.
func locks(t testing.TB) Home {
	home := newMemory(t, memory.Options{})
	return withHooks(Home{Lock: home, Storage: home, TTL: memory.DefaultTTL, MaxSnapshot: memory.DefaultMaxSnapshot})
}

// kept is a right home where the claim is the activation.
func kept(t testing.TB) Home {
	home := newMemory(t, memory.Options{Kept: true})
	return withHooks(Home{Lock: home, Storage: home, Kill: home.Evict, MaxSnapshot: memory.DefaultMaxSnapshot})
}

func newMemory(t testing.TB, o memory.Options) *memory.Home {
	home, err := memory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return home
}

// withHooks adds a second process and answers that are lost.
func withHooks(h Home) Home {
	second := h
	h.Second = &second
	l := &lossyHome{Lock: h.Lock, Storage: h.Storage}
	h.Lock, h.Storage = l, l
	h.Lose = func(executed bool) {
		l.next.Store(1)
		if executed {
			l.next.Store(2)
		}
	}
	return h
}

// lossyHome loses the answer of one call.
type lossyHome struct {
	driver.Lock
	driver.Storage
	next atomic.Int32 // 0: answer; 1: fail; 2: do and fail
}

// call makes the call, or not, and says whether its answer is lost.
func (l *lossyHome) call(do func()) bool {
	next := l.next.Swap(0)
	if next != 1 {
		do()
	}
	return next != 0
}

var errLost = errors.Join(placement.ErrUnavailable, errors.New("the answer is lost"))

func (l *lossyHome) TryAcquire(ctx context.Context, c placement.TryAcquire) (lease placement.Lease, err error) {
	if l.call(func() { lease, err = l.Lock.TryAcquire(ctx, c) }) {
		return placement.Lease{}, &placement.LockError{Key: c.Key, Err: errLost}
	}
	return lease, err
}

func (l *lossyHome) Release(ctx context.Context, lease placement.Lease) (err error) {
	if l.call(func() { err = l.Lock.Release(ctx, lease) }) {
		return &placement.LockError{Key: lease.Key, Err: errLost}
	}
	return err
}

func (l *lossyHome) Store(ctx context.Context, lease placement.Lease, e placement.ActivationEntry) (err error) {
	if l.call(func() { err = l.Storage.Store(ctx, lease, e) }) {
		return &placement.StorageError{Key: lease.Key, Op: "store", Err: errLost}
	}
	return err
}

func (l *lossyHome) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) (err error) {
	if l.call(func() { err = l.Storage.Remove(ctx, key, owner, epoch) }) {
		return &placement.StorageError{Key: key, Op: "remove", Err: errLost}
	}
	return err
}
