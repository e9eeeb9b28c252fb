// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// follower notes what a watcher sees.
type follower struct {
	t      testing.TB
	cancel context.CancelFunc
	last   atomic.Pointer[placement.Topology]
	ended  chan error
}

// follow watches the topology until the test ends, and checks that versions only grow.
func follow(t testing.TB, db kv.Database) *follower {
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{t: t, cancel: cancel, ended: make(chan error, 1)}
	go func() {
		f.ended <- open(t, db).Follow(ctx, func(topology placement.Topology) {
			if before := f.last.Load(); before != nil && before.Version >= topology.Version {
				t.Errorf("version %d follows version %d", topology.Version, before.Version)
			}
			f.last.Store(&topology)
		})
	}()
	return f
}

// names returns the members that the follower knows.
func (f *follower) names() []string { return namesOf(f.last.Load()) }

func namesOf(topology *placement.Topology) []string {
	names := []string{}
	if topology != nil {
		for _, m := range topology.Members {
			names = append(names, m.Name)
		}
	}
	return names
}

// sees checks that the follower knows these members.
func (f *follower) sees(names ...string) {
	f.t.Helper()
	if got := f.names(); !slices.Equal(got, names) {
		f.t.Errorf("the topology has %v, want %v", got, names)
	}
}
