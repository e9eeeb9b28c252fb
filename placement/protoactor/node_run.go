// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
	"github.com/kazahana-db/kazahana/placement/kvstore"
	"github.com/kazahana-db/kazahana/placement/membership"
)

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
	x := &executor{cluster: n.cluster, running: &n.activations, member: m.Context(), fence: home.Fence, observe: n.o.IdleAfter > 0, onEnd: n.noteEnd}
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
	c, err := placement.NewCoordinator(placement.Options{
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
