// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// Followers runs a follower for each tenant of the registry, until ctx ends. Every 10
// seconds it looks for tenants that were added or removed, by any process.
type Followers struct {
	registry *Registry
	log      *slog.Logger
	running  map[idgen.ID]context.CancelFunc
	wait     sync.WaitGroup
}

// NewFollowers returns the followers of a registry's tenants.
func NewFollowers(r *Registry, log *slog.Logger) *Followers {
	return &Followers{registry: r, log: log, running: map[idgen.ID]context.CancelFunc{}}
}

// Run returns when ctx has ended and no follower runs any more.
func (f *Followers) Run(ctx context.Context) {
	defer f.wait.Wait()
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		if err := f.reconcile(ctx); err != nil && ctx.Err() == nil {
			f.log.Error("cannot list the tenants to follow", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// reconcile starts and stops followers, so that each tenant has one.
func (f *Followers) reconcile(ctx context.Context) error {
	gone := map[idgen.ID]bool{}
	for id := range f.running {
		gone[id] = true
	}
	for t, err := range f.registry.tenants.Scan().All(ctx) {
		if err != nil {
			return err
		}
		delete(gone, t.ID)
		if f.running[t.ID] == nil {
			f.start(ctx, t.ID)
		}
	}
	for id := range gone {
		f.running[id]()
		delete(f.running, id)
	}
	return nil
}

func (f *Followers) start(ctx context.Context, tenant idgen.ID) {
	ctx, stop := context.WithCancel(ctx)
	f.running[tenant] = stop
	f.wait.Go(func() { f.follow(ctx, newFollower(f.registry.db, tenant.String())) })
}

// follow runs a follower. After an error that is not the end it begins again.
func (f *Followers) follow(ctx context.Context, one *follower) {
	for {
		err := one.run(ctx)
		if ctx.Err() != nil {
			return
		}
		f.log.Error("a follower failed and starts again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// CatchUp writes the notices that are still to be written, of all tenants.
func (f *Followers) CatchUp(ctx context.Context) error {
	for t, err := range f.registry.tenants.Scan().All(ctx) {
		if err != nil {
			return err
		}
		if err := newFollower(f.registry.db, t.ID.String()).catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}
