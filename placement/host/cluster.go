// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
)

// cluster keeps members and activations: a database, or a fake in tests.
type cluster interface {
	// joinMember makes the process a member under a new incarnation.
	joinMember(ctx context.Context, m placement.Member) (seat, error)
	// watchMembers delivers topologies until ctx ends.
	watchMembers(ctx context.Context, deliver func(placement.Topology)) error
	homes(s *session) driver.Homes
	fence(key placement.Key, owner placement.Owner, epoch int64) leasefdb.Fence
}

// seat is the membership of one incarnation.
type seat interface {
	Owner() placement.Owner
	// Context ends when the membership may be lost, at a deadline counted from
	// before its last renewal.
	Context() context.Context
	Drain(ctx context.Context) error
	Leave(ctx context.Context) error
	// Rejoin joins anew in the place of a membership that was lost, once nothing of it is active.
	Rejoin(ctx context.Context) (seat, error)
	// SetLoad publishes the number of activations, for strategies.
	SetLoad(n int64)
}

// lookup is what a session needs of a *[driver.Driver].
type lookup interface {
	StartMember(kinds []string) error
	StartClient() error
	Resolve(ctx context.Context, key placement.Key) (placement.Resolution, error)
	UpdateTopology(t placement.Topology) error
	Use(key placement.Key, epoch int64)
	Passivate(key placement.Key, epoch int64)
	LoseActivation(key placement.Key, epoch int64)
	Learn(key placement.Key, h placement.Holder)
	Forget(key placement.Key, h placement.Holder)
	State() placement.State
	Explain(key placement.Key) placement.Explanation
	LoseAll()
	Stop(ctx context.Context) error
	Run(ctx context.Context) error
}
