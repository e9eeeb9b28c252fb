// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"iter"

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
