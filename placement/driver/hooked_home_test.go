// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"

	"github.com/kazahana-db/kazahana/placement"
)

// hookedHome is a home with hooks before and after each call; nil: none.
type hookedHome struct {
	home
	before func(ctx context.Context, method string, key placement.Key) error
	after  func(ctx context.Context, method string, key placement.Key) error
}

func (h *hookedHome) runHooks(ctx context.Context, method string, key placement.Key, call func() error) error {
	if h.before != nil {
		if err := h.before(ctx, method, key); err != nil {
			return err
		}
	}
	if err := call(); err != nil || h.after == nil {
		return err
	}
	return h.after(ctx, method, key)
}

func (h *hookedHome) TryAcquire(ctx context.Context, c placement.TryAcquire) (l placement.Lease, err error) {
	err = h.runHooks(ctx, "TryAcquire", c.Key, func() (err error) { l, err = h.home.TryAcquire(ctx, c); return err })
	return l, err
}

func (h *hookedHome) Release(ctx context.Context, l placement.Lease) error {
	return h.runHooks(ctx, "Release", l.Key, func() error { return h.home.Release(ctx, l) })
}

func (h *hookedHome) Load(ctx context.Context, key placement.Key) (e *placement.ActivationEntry, err error) {
	err = h.runHooks(ctx, "Load", key, func() (err error) { e, err = h.home.Load(ctx, key); return err })
	return e, err
}

func (h *hookedHome) Store(ctx context.Context, l placement.Lease, e placement.ActivationEntry) error {
	return h.runHooks(ctx, "Store", l.Key, func() error { return h.home.Store(ctx, l, e) })
}

func (h *hookedHome) Remove(ctx context.Context, key placement.Key, owner placement.Owner, epoch int64) error {
	return h.runHooks(ctx, "Remove", key, func() error { return h.home.Remove(ctx, key, owner, epoch) })
}
