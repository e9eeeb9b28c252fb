// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Seat is the membership of a host in tests.
type Seat = seat

// TestCluster stands for a database.
type TestCluster struct {
	Join  func(ctx context.Context, m placement.Member) (Seat, error)
	Watch func(ctx context.Context, deliver func(placement.Topology)) error
	Homes func(e driver.Executor) driver.Homes
}

func (c TestCluster) joinMember(ctx context.Context, m placement.Member) (seat, error) {
	return c.Join(ctx, m)
}

func (c TestCluster) watchMembers(ctx context.Context, deliver func(placement.Topology)) error {
	return c.Watch(ctx, deliver)
}

func (c TestCluster) homes(s *session) driver.Homes { return c.Homes(s) }

func (c TestCluster) fence(placement.Key, placement.Owner, int64) leasefdb.Fence {
	return leasefdb.Fence{}
}

// NewOn returns a host on a cluster of tests.
func NewOn(c TestCluster, o Options) *Host {
	o = o.withDefaults()
	return newHost(&process{options: o, cluster: withSource(c, o)})
}

// NewClientOn returns a client on a cluster of tests.
func NewClientOn(c TestCluster, o Options) *Client {
	o = o.withDefaults()
	return newClient(&process{options: o, cluster: withSource(c, o)})
}

// Learn makes the host believe that a holder has a key.
func (h *Host) Learn(key placement.Key, holder placement.Holder) {
	h.session.Load().driver.Learn(key, holder)
}

// PanicError is what is sent of a panic.
type PanicError = panicError
