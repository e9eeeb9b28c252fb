// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// observer is one observation.
type observer struct {
	*Election
	seen   leasefdb.Observation
	status Status
	watch  kv.Future[struct{}]
}

// readLeader reads the leader, and watches the name.
func (o *observer) readLeader(ctx context.Context) error {
	for {
		state, watch, err := o.names.Watch(ctx, o.db, o.name)
		if unwatchable(err) {
			watch = kv.Resolved(struct{}{}, err)
			state, err = o.names.Get(ctx, o.db, o.name)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			o.updateStatus(state)
			o.watch = watch
			return nil
		case !isTransient(err):
			return err
		}
		_ = sleep.For(ctx, o.options.Duration/12)
	}
}

func (o *observer) updateStatus(state leasefdb.State) {
	o.seen = o.seen.Observe(state)
	o.status = Status{Rank: state.Epoch}
	if state.Held() && o.seen.Remaining() > 0 {
		o.status.Leader = state.Holder
	}
}

// awaitChange waits until the watch fires or the lease has lapsed. Without a
// watch it waits a third of a lease.
func (o *observer) awaitChange(ctx context.Context) {
	defer func() { o.watch.Cancel() }()
	var lapsed <-chan time.Time
	if o.status.Leader != "" {
		timer := time.NewTimer(o.seen.Remaining())
		defer timer.Stop()
		lapsed = timer.C
	}
	select {
	case <-o.watch.Done():
		if _, err := o.watch.Get(ctx); err != nil {
			_ = sleep.For(ctx, o.options.Duration/3)
		}
	case <-lapsed:
	case <-ctx.Done():
	}
}
