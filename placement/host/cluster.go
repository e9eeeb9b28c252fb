// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
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
	Resolve(ctx context.Context, key placement.Key) (core.Resolution, error)
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

// sourceCluster is a cluster with a membership of the program, see [Options.Source]. The embedded
// cluster alone decides which members are alive, and under which incarnation, because its leases
// decide on claims. The source says which of these members get activations.
type sourceCluster struct {
	cluster
	source membership.Source
	logger *slog.Logger

	mu      sync.Mutex
	listed  *placement.Topology // what the source told last; nil: nothing yet
	version int64               // of the topology that was delivered last
	newest  int64               // the greatest version that the embedded cluster told
}

// withSource returns the cluster as it is with the source of the options, if there is one.
func withSource(c cluster, o Options) cluster {
	if o.Source == nil {
		return c
	}
	return &sourceCluster{cluster: c, source: o.Source, logger: o.Logger}
}

// watchMembers delivers the members of the cluster, once they and those of the source are
// known, and at each change of either.
func (c *sourceCluster) watchMembers(ctx context.Context, deliver func(placement.Topology)) error {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	m := &merger{sourceCluster: c, deliver: deliver}
	following.Go(func() { m.followSource(ctx) })
	return c.cluster.watchMembers(ctx, m.noteMembers)
}

// merger is one watch of a [sourceCluster].
type merger struct {
	*sourceCluster
	deliver func(placement.Topology)
	members *placement.Topology // what the embedded cluster told last; nil: nothing yet
}

// followSource calls the source, and calls it again after it has failed. Between the calls, and after
// the source has returned nil, its last topology stays in force.
func (m *merger) followSource(ctx context.Context) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		var last int64 // a source that is called again may count anew
		err := m.source(ctx, func(t placement.Topology) { m.noteListed(&last, t) })
		if err == nil || ctx.Err() != nil {
			return
		}
		m.logger.Warn("host: the source of members has failed; it is called again", "err", err)
		_ = backoff(ctx, attempt)
	}
}

// noteListed merges a topology of the source, unless it has faults or is older than the last one
// of the same call.
func (m *merger) noteListed(last *int64, t placement.Topology) {
	if err := checkListed(t); err != nil {
		m.logger.Error("host: a topology of the source of members cannot be used", "version", t.Version, "err", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.Version <= *last {
		return
	}
	*last, m.listed = t.Version, &t
	m.deliverMerged()
}

// maxListed is the greatest version of a source: to it the cluster's is added.
const maxListed = 1 << 62

// checkListed returns all faults of what counts of a topology of a source: the version and the
// names.
func checkListed(t placement.Topology) error {
	names := placement.Topology{Version: t.Version}
	for _, m := range t.Members {
		names.Members = append(names.Members, placement.Member{Owner: placement.Owner{Name: m.Name, Incarnation: 1}})
	}
	var tooGreat error
	if t.Version > maxListed {
		tooGreat = fmt.Errorf("host: the version is %d; at most %d is possible", t.Version, int64(maxListed))
	}
	return errors.Join(names.Validate(), tooGreat)
}

// noteMembers merges a topology of the embedded cluster.
func (m *merger) noteMembers(t placement.Topology) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.Version < m.newest { // the database was restored: see membership.ErrVersionFell
		return
	}
	m.newest, m.members = t.Version, &t
	m.deliverMerged()
}

// deliverMerged delivers the merged topology. Its version is the sum of both, which is the same in all
// processes that were told the same; or one more than the last, if the source counts anew. The caller
// holds the mutex, so that deliveries are in order.
func (m *merger) deliverMerged() {
	if m.members == nil || m.listed == nil {
		return
	}
	merged, both := merge(*m.members, *m.listed)
	if both == 0 && len(merged.Members) > 0 {
		m.logger.Warn("host: the source lists none of the members, so nothing can be activated; it must list them by the names that hosts have in Options.Name",
			"members", len(merged.Members), "listed", len(m.listed.Members))
	}
	m.version = max(m.version+1, m.members.Version+m.listed.Version)
	merged.Version = m.version
	m.deliver(merged)
}

// merge returns the members of a cluster as the source allows them to be used, and how many of them
// it lists. A member that the source does not list drains: it keeps its activations until they have
// moved. A member that only the source lists can claim nothing, and is left out.
func merge(members, listed placement.Topology) (merged placement.Topology, both int) {
	byName := make(map[string]placement.Member, len(listed.Members))
	for _, m := range listed.Members {
		byName[m.Name] = m
	}
	merged.Cluster = members.Cluster
	for _, m := range members.Members {
		other, found := byName[m.Name]
		if found {
			both++
		}
		m.Draining = m.Draining || !found || other.Draining
		m.Labels = mergeLabels(m.Labels, other.Labels)
		merged.Members = append(merged.Members, m)
	}
	return merged, both
}

// mergeLabels returns a member's labels and those that the source has of it, which prevail.
func mergeLabels(own, others map[string]string) map[string]string {
	if len(others) == 0 {
		return own
	}
	merged := make(map[string]string, len(own)+len(others))
	maps.Copy(merged, own)
	maps.Copy(merged, others)
	return merged
}
