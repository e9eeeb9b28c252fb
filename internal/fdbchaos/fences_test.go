// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbchaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// duration is how long leases last.
const duration = time.Second

// turn is how many entries an owner writes before another one may follow.
const turn = 20

// leases are clients that hold names.
type leases struct {
	*fencedLog
	names *leasefdb.Names
}

func newLeases(c *chaos) *leases {
	return &leases{newLog(c, "leases"), must[*leasefdb.Names](c.t)(leasefdb.NewNames(c.db, nil))}
}

func (l *leases) work(ctx context.Context, client int, random *rand.Rand) {
	for ctx.Err() == nil {
		_ = l.bounded(ctx, random, func(ctx context.Context) error { return l.breakAny(ctx, anyName(random)) })
		var held *leasefdb.Lease
		err := l.bounded(ctx, random, func(ctx context.Context) (err error) {
			held, err = l.names.Acquire(ctx, anyName(random), leasefdb.Claim{Holder: name(client), Duration: duration})
			return err
		})
		if err != nil {
			_ = sleep.For(ctx, time.Millisecond)
			continue
		}
		fenced := held.Fence().Under(l.db)
		for seq := int64(1); seq <= turn && !errors.Is(err, leasefdb.ErrLeaseLost) && ctx.Err() == nil; seq++ {
			err = l.append(ctx, random, fenced, entry{held.Grant().Name, held.Grant().Epoch, name(client), seq})
		}
		_ = l.bounded(context.WithoutCancel(ctx), random, held.Release) // without an answer, the lease lapses
	}
}

// breakAny takes a name from its holder, which goes on writing.
func (l *leases) breakAny(ctx context.Context, name string) error {
	state, err := l.names.Holder(ctx, l.db, name)
	if err != nil {
		return err
	}
	return l.names.Break(ctx, l.db, name, state.Epoch)
}

// elections are candidates.
type elections struct{ *fencedLog }

func newElections(c *chaos) elections { return elections{newLog(c, "elections")} }

func (l elections) work(ctx context.Context, client int, random *rand.Rand) {
	e, err := election.New(l.db, "leader", election.Options{Candidate: name(client), Duration: duration, ElectionTimeout: duration / 3})
	if err != nil {
		l.t.Error(err)
		return
	}
	err = e.Run(ctx, func(ctx context.Context, term election.Term) error {
		fenced := term.Under(l.db)
		var err error
		for seq := int64(1); seq <= turn && !errors.Is(err, election.ErrDeposed); seq++ {
			err = l.append(ctx, random, fenced, entry{"leader", term.Rank(), name(client), seq})
		}
		return nil
	})
	if ctx.Err() == nil {
		l.t.Errorf("a candidate has ended: %v", err)
	}
}

// placements are members that claim keys.
type placements struct {
	*fencedLog
	members *membership.Registry
	home    *kvstore.Store
}

func newPlacement(c *chaos) *placements {
	members := must[*membership.Registry](c.t)(membership.New(c.db, membership.Options{Duration: duration}))
	return &placements{newLog(c, "placement"), members, must[*kvstore.Store](c.t)(kvstore.New(c.db, kvstore.Options{Members: members}))}
}

func (l *placements) work(ctx context.Context, client int, random *rand.Rand) {
	for ctx.Err() == nil {
		var m *membership.Member
		err := l.bounded(ctx, random, func(ctx context.Context) (err error) {
			m, err = l.members.Join(ctx, membership.Self{Name: name(client), Address: name(client)})
			return err
		})
		if err != nil {
			_ = sleep.For(ctx, time.Millisecond)
			continue
		}
		l.workAs(ctx, m.Member().Owner, random)
		_ = l.bounded(context.WithoutCancel(ctx), random, m.Leave)
	}
}

// evictAny takes a membership from a member, which goes on writing.
func (l *placements) evictAny(ctx context.Context, random *rand.Rand) error {
	topology, err := l.members.Topology(ctx, l.db)
	if err != nil || len(topology.Members) == 0 {
		return err
	}
	_, err = l.members.Evict(ctx, topology.Members[random.IntN(len(topology.Members))].Owner)
	return err
}

// workAs claims keys and writes under them until a claim is refused because the member is lost.
func (l *placements) workAs(ctx context.Context, self placement.Owner, random *rand.Rand) {
	for request := placement.RequestID(1); ctx.Err() == nil && request < turn; request++ {
		if random.IntN(4) == 0 {
			_ = l.bounded(ctx, random, func(ctx context.Context) error { return l.evictAny(ctx, random) })
		}
		key := placement.Key{Kind: "account", ID: anyName(random)}
		var lease core.Lease
		err := l.bounded(ctx, random, func(ctx context.Context) (err error) {
			lease, err = l.home.TryAcquire(ctx, core.TryAcquire{RequestID: request, Key: key, Owner: self, Address: self.Name})
			return err
		})
		switch {
		case errors.Is(err, placement.ErrStale):
			return
		case err != nil:
			_ = sleep.For(ctx, time.Millisecond)
			continue
		}
		fenced := l.home.Fence(key, self, lease.Epoch).Under(l.db)
		for seq := int64(1); seq <= turn && !errors.Is(err, leasefdb.ErrLeaseLost) && ctx.Err() == nil; seq++ {
			err = l.append(ctx, random, fenced, entry{key.String(), lease.Epoch, self.String(), seq})
		}
		_ = l.bounded(ctx, random, func(ctx context.Context) error { return l.home.Release(ctx, lease) })
	}
}
