// SPDX-License-Identifier: Apache-2.0

package election

import (
	"context"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// Status is the leader, as far as an observer knows.
type Status struct {
	Leader string // the owner that leads; empty if there is none
	Rank   int64  // of its term, or of the last one; 0 if there was none
}

// Observe returns who leads, and then each change of that, until ctx ends. Nobody
// leads after a resignation, and when the leader has not renewed its lease for as long
// as that lasts. Changes are seen by a watch of the key; of several that follow each other
// closely the last one is told. Where the engine can give no watch, Observe looks three
// times a lease. Errors of the engine that may pass are tried again.
//
// The last pair has the error: ctx's cause, or what will not pass.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		o := observer{Election: e}
		for first := true; ; first = false {
			before := o.status
			if err := o.look(ctx); err != nil {
				yield(Status{}, err)
				return
			}
			if (first || o.status != before) && !yield(o.status, nil) {
				o.watch.Cancel()
				return
			}
			o.wait(ctx)
		}
	}
}

// observer is one observation.
type observer struct {
	*Election
	seen   leasefdb.Observation
	status Status
	watch  kv.Future[struct{}]
}

// look reads the leader, and watches the name.
func (o *observer) look(ctx context.Context) error {
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
			o.note(state)
			o.watch = watch
			return nil
		case !passing(err):
			return err
		}
		sleep(ctx, o.options.Duration/12)
	}
}

func (o *observer) note(state leasefdb.State) {
	o.seen = o.seen.Observe(state)
	o.status = Status{Rank: state.Epoch}
	if state.Held() && o.seen.Remaining() > 0 {
		o.status.Leader = state.Holder
	}
}

// wait waits until it is time for another look: the watch fires, or the lease has
// lapsed. Without a watch that is three times a lease.
func (o *observer) wait(ctx context.Context) {
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
			sleep(ctx, o.options.Duration/3)
		}
	case <-lapsed:
	case <-ctx.Done():
	}
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
