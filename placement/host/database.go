// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// database is the cluster in a database: members by package membership,
// activations by package kvstore.
type database struct {
	members *membership.Registry
	store   *kvstore.Store
}

func newDatabase(db kv.Database, o Options) (cluster, error) {
	path := func(name string) []string { return append(slices.Clone(o.Path), name) }
	members, err := membership.New(db, membership.Options{Duration: o.Lease, Layer: o.Layer, Path: path("members"), Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	store, err := kvstore.New(db, kvstore.Options{Members: members, Layer: o.Layer, Path: path("placement")})
	if err != nil {
		return nil, err
	}
	return &database{members: members, store: store}, nil
}

func (d *database) joinMember(ctx context.Context, m placement.Member) (seat, error) {
	joined, err := d.members.Join(ctx, membership.Self{Name: m.Name, Address: m.Address, Kinds: m.Kinds, Labels: m.Labels})
	if err != nil {
		return nil, err
	}
	return databaseSeat{joined}, nil
}

func (d *database) watchMembers(ctx context.Context, deliver func(placement.Topology)) error {
	return d.members.Follow(ctx, deliver)
}

func (d *database) homes(s *session) driver.Homes {
	return driver.Homes{Lock: d.store, Storage: d.store, Executor: s}
}

func (d *database) fence(key placement.Key, owner placement.Owner, epoch int64) leasefdb.Fence {
	return d.store.Fence(key, owner, epoch)
}

// databaseSeat is a member of the database.
type databaseSeat struct{ *membership.Member }

// Rejoin implements [seat].
func (s databaseSeat) Rejoin(ctx context.Context) (seat, error) {
	joined, err := s.Member.Rejoin(ctx)
	if err != nil {
		return nil, err
	}
	return databaseSeat{joined}, nil
}

// Owner implements [seat].
func (s databaseSeat) Owner() placement.Owner { return s.Member.Member().Owner }
