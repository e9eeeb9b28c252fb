// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/persistable/tenants"
)

// lock locks a tenant, also if the client goes meanwhile: if that ended the commit, it would
// be unknown whether the tenant is locked, and by which lock.
func (r *Registry) lock(ctx context.Context, dir, reason string) (tenants.Lock, error) {
	ctx, stop := detach(ctx)
	defer stop()
	return r.directories().Lock(ctx, dir, reason)
}

// unlock ends the lock also if the client has gone, which ended ctx.
func (r *Registry) unlock(ctx context.Context, lock tenants.Lock) error {
	ctx, stop := detach(ctx)
	defer stop()
	return r.directories().Unlock(ctx, lock)
}

// detach returns a context for what must be done even if the client has gone.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// Unlock ends the lock of a tenant, if it has one: that of an export whose process was
// killed. An export that is still under way fails.
func (r *Registry) Unlock(ctx context.Context, name string) error {
	dir, err := r.Directory(ctx, name)
	if err != nil {
		return err
	}
	lock, locked, err := r.directories().LockOf(ctx, dir)
	if errors.Is(err, tenants.ErrNotFound) {
		return nil // the tenant has never written anything
	}
	if err == nil && locked {
		err = r.directories().Unlock(ctx, lock)
	}
	return err
}
