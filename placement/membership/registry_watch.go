// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Source is a membership that a program has: it calls deliver with each topology, from one
// goroutine, until ctx ends or it fails for good. Versions only grow. For a driver, a member that is
// missing from a topology is dead, not merely unreachable, and comes back only under a greater
// incarnation. For a host it need not be, and incarnations do not count: see placement/host,
// Options.Source. [Registry.Follow] is one.
type Source func(ctx context.Context, deliver func(placement.Topology)) error

// Follow is [Registry.Watch] as a [Source].
func (r *Registry) Follow(ctx context.Context, deliver func(placement.Topology)) error {
	for topology, err := range r.Watch(ctx) {
		if err != nil {
			return err
		}
		deliver(topology)
	}
	return nil
}

// Watch returns the topology, once there is one, and then each change of it, until ctx
// ends. Versions only grow; of changes that follow each other closely the last one is told. Changes
// are seen by a watch in the database, and by a look in six durations in case that
// was lost; where the engine gives no watch by three looks a duration. Errors of the engine
// that may pass are tried again.
//
// The last pair has the error: ctx's cause, an [ErrVersionFell], or what else will not
// pass.
func (r *Registry) Watch(ctx context.Context) iter.Seq2[placement.Topology, error] {
	return func(yield func(placement.Topology, error) bool) {
		w := watcher{Registry: r}
		defer func() { w.watch.Cancel() }()
		for {
			changed, err := w.readChange(ctx)
			if err != nil {
				yield(placement.Topology{}, err)
				return
			}
			if changed && !yield(w.topology, nil) {
				return
			}
			w.awaitNextLook(ctx, changed)
		}
	}
}

// watcher is one Watch.
type watcher struct {
	*Registry
	topology placement.Topology // as told last
	watch    kv.Future[struct{}]
}

// readChange reads the topology if its version has changed, and watches the version.
func (w *watcher) readChange(ctx context.Context) (changed bool, err error) {
	for {
		topology, watch, err := w.readTopology(ctx, true)
		if cannotWatch(err) {
			topology, watch, err = w.readTopology(ctx, false)
		}
		switch {
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case err == nil:
			w.watch.Cancel()
			w.watch = watch
			return w.noteTopology(topology)
		case !mayPass(err):
			return false, err
		}
		w.options.Logger.Debug("membership: a look at the topology failed", "error", err)
		_ = sleep.For(ctx, jitter(w.options.Duration/12))
	}
}

// noteTopology notes a topology and reports whether its version is new. A topology of the known
// version comes without members.
func (w *watcher) noteTopology(t placement.Topology) (changed bool, err error) {
	switch {
	case t.Version < w.topology.Version:
		return false, fmt.Errorf("%w (it was %d, and is %d)", ErrVersionFell, w.topology.Version, t.Version)
	case t.Version == w.topology.Version:
		return false, nil
	}
	w.topology = t
	return true, nil
}

// readTopology reads the version, and the members if it is another one. Without a watch the
// future has failed.
func (w *watcher) readTopology(ctx context.Context, watched bool) (t placement.Topology, watch kv.Future[struct{}], err error) {
	watch = kv.Resolved(struct{}{}, error(kv.NewError(kv.CodeTooManyWatches, "no watch was asked for")))
	var all rows
	err = w.db.Transact(ctx, func(tx kv.Transaction) error {
		all = rows{}
		k, err := w.createKeys(ctx, tx)
		if err != nil {
			return err
		}
		if watched {
			watch = tx.Watch(k.version())
		}
		if t.Version, err = k.startVersion(tx)(ctx); err != nil || t.Version == w.topology.Version {
			return err
		}
		version := t.Version
		t, all, err = k.readTopology(ctx, tx)
		t.Version = version
		return err
	})
	if damaged := errors.Join(all.damaged...); err == nil && damaged != nil {
		w.options.Logger.Warn("membership: the rows of members cannot be read", "version", t.Version, "error", damaged)
		t.Members = append(t.Members, w.knownOf(all.unread)...)
	}
	return t, watch, err
}

// knownOf returns the members of these names as they were told last: a member with a row that cannot be
// read may be alive.
func (w *watcher) knownOf(names []string) (known []placement.Member) {
	for _, m := range w.topology.Members {
		if slices.Contains(names, m.Name) {
			known = append(known, m)
		}
	}
	return known
}

// settleTime is the mean pause of a watcher after a change, so that many changes at once cost each
// process ten transactions a second at most.
const settleTime = 100 * time.Millisecond

// awaitNextLook waits until it is time for another look.
func (w *watcher) awaitNextLook(ctx context.Context, changed bool) {
	if changed {
		_ = sleep.For(ctx, settleTime/2+rand.N(settleTime))
	}
	poll := time.NewTimer(jitter(6 * w.options.Duration))
	defer poll.Stop()
	select {
	case <-w.watch.Done():
		if _, err := w.watch.Get(ctx); err != nil {
			_ = sleep.For(ctx, jitter(w.options.Duration/3))
		}
	case <-poll.C:
	case <-ctx.Done():
	}
}
