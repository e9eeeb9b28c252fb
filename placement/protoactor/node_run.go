// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

type provider struct{ node *Node }

// StartMember implements [cluster.ClusterProvider].
func (p provider) StartMember(c *cluster.Cluster) error { return p.awaitStart(c) }

// StartClient implements [cluster.ClusterProvider].
func (p provider) StartClient(c *cluster.Cluster) error { return p.awaitStart(c) }

func (p provider) awaitStart(c *cluster.Cluster) error {
	n := p.node
	n.mu.Lock()
	ours := n.cluster == c
	n.mu.Unlock()
	if !ours {
		return errors.New("protoactor: the provider needs the lookup of the same node: also give node.Lookup() to cluster.Configure")
	}
	ctx, cancel := context.WithTimeout(n.ctx, n.o.StartTimeout)
	defer cancel()
	if _, err := n.awaitReady(ctx); err != nil {
		return fmt.Errorf("protoactor: starting as %s: %w", n.memberName(), err)
	}
	for _, err := range n.roster.attachList(c.MemberList) {
		n.log().Warn("kazahana: a member is left out", slog.Any("error", err))
	}
	return nil
}

// Shutdown implements [cluster.ClusterProvider]. The cluster calls it before it shuts
// the lookup down: from then on other members do not choose this one, and it leaves when
// its actors have stopped.
func (p provider) Shutdown(graceful bool) error {
	joined := p.node.currentPart()
	if joined == nil || !graceful {
		return nil
	}
	ctx, cancel := context.WithTimeout(p.node.ctx, p.node.o.StopTimeout)
	defer cancel()
	return joined.drain(ctx)
}

// joinAndRun joins, and then keeps the node's part in the cluster until it is closed or lost.
func (n *Node) joinAndRun() {
	p, err := n.joinCluster()
	if err != nil {
		n.failNode(fmt.Errorf("protoactor: joining as %s: %w", n.memberName(), err))
		return
	}
	if !n.setPart(p) {
		ctx, cancel := context.WithTimeout(context.Background(), n.o.StopTimeout)
		defer cancel()
		_ = p.leave(ctx) // otherwise its lease lapses
		return
	}
	go n.observeSystem()
	go n.watchMembers(p)
	if p.lost != nil {
		go n.observeLoss(p)
	}
	_ = p.driver.Run(n.ctx) // which ends when the node does
}

// setPart begins the node's part; false if the node is being closed already.
func (n *Node) setPart(p *part) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		return false
	}
	n.part = p
	return true
}

// pathOf returns the path of a directory that all nodes share.
func (n *Node) pathOf(what string) []string { return append(slices.Clone(n.o.Path), what) }

// joinCluster makes the node a member, or a client.
func (n *Node) joinCluster() (*part, error) {
	registry, err := membership.New(n.db, membership.Options{Layer: n.o.Layer, Path: n.pathOf("members"), Duration: n.o.Duration, Logger: n.log()})
	if err != nil {
		return nil, err
	}
	if n.client {
		return n.joinClient(registry)
	}
	home, err := kvstore.New(n.db, kvstore.Options{Layer: n.o.Layer, Path: n.pathOf("placement"), Members: registry})
	if err != nil {
		return nil, err
	}
	m, err := registry.Join(n.ctx, n.describeSelf())
	if err != nil {
		return nil, err
	}
	owner := m.Member().Owner
	x := &executor{cluster: n.cluster, running: &n.activations, member: m.Context(), fence: home.Fence, observe: n.o.IdleAfter > 0, onEnd: n.noteEnd, passivate: n.passivate}
	d, err := n.newDriver(owner, driver.Homes{Lock: home, Storage: home, Executor: x})
	if err != nil {
		return nil, err
	}
	return &part{owner: owner, driver: d, registry: registry, lost: m.Context(), drain: m.Drain, leave: m.Leave}, d.StartMember(n.kinds)
}

// joinClient makes a part that activates nothing.
func (n *Node) joinClient(registry *membership.Registry) (*part, error) {
	nothing := func(context.Context) error { return nil }
	d, err := n.newDriver(placement.Owner{Name: n.memberName(), Incarnation: 1}, driver.Homes{})
	if err != nil {
		return nil, err
	}
	return &part{driver: d, registry: registry, drain: nothing, leave: nothing}, d.StartClient()
}

func (n *Node) newDriver(self placement.Owner, homes driver.Homes) (*driver.Driver, error) {
	c, err := core.NewCoordinator(core.Options{
		Self: self, Address: n.cluster.ActorSystem.Address(), Strategy: n.o.Strategy, RequestTimeout: n.o.Timeout,
	})
	if err != nil {
		return nil, err
	}
	return driver.New(c, homes, driver.Options{IdleAfter: n.o.IdleAfter, Tick: n.tickInterval(), Events: n.o.Events, Logger: n.log()})
}

// memberName returns the name under which the node joins.
func (n *Node) memberName() string { return cmp.Or(n.o.Name, n.cluster.ActorSystem.Address()) }

// describeSelf returns the description of the member for the others.
func (n *Node) describeSelf() membership.Self {
	labels := maps.Clone(n.o.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[systemLabel] = n.cluster.ActorSystem.ID
	return membership.Self{Name: n.memberName(), Address: n.cluster.ActorSystem.Address(), Kinds: n.kinds, Labels: labels}
}

// watchMembers delivers topologies until the node ends.
func (n *Node) watchMembers(p *part) {
	if err := p.registry.Follow(n.ctx, func(t placement.Topology) { n.deliverTopology(p, t) }); err != nil && n.ctx.Err() == nil {
		n.failNode(fmt.Errorf("protoactor: watching the members: %w", err))
	}
}

// observeLoss ends the node when its member is lost.
func (n *Node) observeLoss(p *part) {
	select {
	case <-p.lost.Done():
		n.loseMember(p, context.Cause(p.lost))
	case <-n.ctx.Done():
	}
}

// tickInterval is the time between the driver's checks for idle activations.
func (n *Node) tickInterval() time.Duration {
	if n.o.IdleAfter == 0 {
		return time.Second
	}
	return min(max(n.o.IdleAfter/4, 10*time.Millisecond), time.Second)
}

// deliverTopology tells of new members.
func (n *Node) deliverTopology(p *part, t placement.Topology) {
	if err := p.driver.UpdateTopology(t); err != nil {
		n.log().Error("kazahana: the topology is refused", slog.Any("error", err))
	}
	for _, err := range n.roster.updateTopology(t) {
		n.log().Warn("kazahana: a member is left out", slog.Any("error", err))
	}
	if p.lost == nil || lists(t, p.owner) {
		n.listed.Do(func() { close(n.ready) })
	}
}

func lists(t placement.Topology, o placement.Owner) bool {
	return slices.ContainsFunc(t.Members, func(m placement.Member) bool { return m.Owner == o })
}

// systemLabel is the label with the id of a member's actor system, by which
// protoactor-go knows its members. A member that restarts has another one.
const systemLabel = "protoactor.system"

// membersOf returns the members of a topology in protoactor-go's form, and the faults of
// those that have no such form.
func membersOf(t placement.Topology) (cluster.Members, []error) {
	all, faults := make(cluster.Members, 0, len(t.Members)), []error(nil)
	for _, m := range t.Members {
		member, err := memberOf(m)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		all = append(all, member)
	}
	return all, faults
}

func memberOf(m placement.Member) (*cluster.Member, error) {
	host, service, err := net.SplitHostPort(m.Address)
	if err != nil {
		return nil, fmt.Errorf("protoactor: the address of %s: %w", m.Owner, err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("protoactor: the port of %s at %q: %w", m.Owner, m.Address, err)
	}
	id := m.Labels[systemLabel]
	if id == "" {
		return nil, fmt.Errorf("protoactor: %s has no label %s: it is not a member of a cluster of protoactor-go", m.Owner, systemLabel)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // protoactor-go puts host and port together as they are
	}
	return &cluster.Member{Host: host, Port: int32(port), Id: id, Kinds: m.Kinds}, nil
}

// roster gives the members to protoactor-go.
type roster struct {
	mu     sync.Mutex
	list   *cluster.MemberList // nil without the provider
	latest placement.Topology
}

// updateTopology gives a topology to the list, unless that has a newer one, and returns
// all faults of its members.
func (r *roster) updateTopology(t placement.Topology) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.Version <= r.latest.Version {
		return nil
	}
	r.latest = t
	return r.updateList()
}

// attachList gives the present topology, and later ones, to a list.
func (r *roster) attachList(list *cluster.MemberList) []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = list
	return r.updateList()
}

// updateList holds the lock, so that a newer list is never replaced by an older one.
func (r *roster) updateList() []error {
	if r.list == nil || r.latest.Version == 0 {
		return nil
	}
	all, faults := membersOf(r.latest)
	r.list.UpdateClusterTopology(all)
	return faults
}
