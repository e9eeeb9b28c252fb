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

// run joins, and then keeps the node's part in the cluster until it is closed or lost.
func (n *Node) run() {
	p, err := n.join()
	if err != nil {
		n.fail(fmt.Errorf("protoactor: joining as %s: %w", n.name(), err))
		return
	}
	if !n.enter(p) {
		ctx, cancel := context.WithTimeout(context.Background(), n.o.StopTimeout)
		defer cancel()
		_ = p.leave(ctx) // else its lease lapses
		return
	}
	go n.observeSystem()
	go n.watch(p)
	if p.lost != nil {
		go n.observeLoss(p)
	}
	_ = p.driver.Run(n.ctx) // which ends when the node does
}

// enter begins the node's part; false if the node is being closed already.
func (n *Node) enter(p *part) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		return false
	}
	n.part = p
	return true
}

// path returns the directory of something that all nodes share.
func (n *Node) path(what string) []string { return append(slices.Clone(n.o.Path), what) }

// join makes the node a member, or a client.
func (n *Node) join() (*part, error) {
	registry, err := membership.New(n.db, membership.Options{Layer: n.o.Layer, Path: n.path("members"), Duration: n.o.Duration, Logger: n.log()})
	if err != nil {
		return nil, err
	}
	if n.client {
		return n.joinClient(registry)
	}
	home, err := kvstore.New(n.db, kvstore.Options{Layer: n.o.Layer, Path: n.path("placement"), Members: registry})
	if err != nil {
		return nil, err
	}
	m, err := registry.Join(n.ctx, n.self())
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
	d, err := n.newDriver(placement.Owner{Name: n.name(), Incarnation: 1}, driver.Homes{})
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
	return driver.New(c, homes, driver.Options{IdleAfter: n.o.IdleAfter, Tick: n.tick(), Events: n.o.Events, Logger: n.log()})
}

// name returns under which name the node joins.
func (n *Node) name() string { return cmp.Or(n.o.Name, n.cluster.ActorSystem.Address()) }

// self returns what the others are told of the member.
func (n *Node) self() membership.Self {
	labels := maps.Clone(n.o.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[systemLabel] = n.cluster.ActorSystem.ID
	return membership.Self{Name: n.name(), Address: n.cluster.ActorSystem.Address(), Kinds: n.kinds, Labels: labels}
}

// watch delivers topologies until the node ends.
func (n *Node) watch(p *part) {
	if err := p.registry.Follow(n.ctx, func(t placement.Topology) { n.deliver(p, t) }); err != nil && n.ctx.Err() == nil {
		n.fail(fmt.Errorf("protoactor: watching the members: %w", err))
	}
}

// observeLoss ends the node when its member is lost.
func (n *Node) observeLoss(p *part) {
	select {
	case <-p.lost.Done():
		n.lose(p, context.Cause(p.lost))
	case <-n.ctx.Done():
	}
}

// tick is how often the driver looks at what is idle.
func (n *Node) tick() time.Duration {
	if n.o.IdleAfter == 0 {
		return time.Second
	}
	return min(max(n.o.IdleAfter/4, 10*time.Millisecond), time.Second)
}

// deliver tells of new members.
func (n *Node) deliver(p *part, t placement.Topology) {
	if err := p.driver.UpdateTopology(t); err != nil {
		n.log().Error("kazahana: the topology is refused", slog.Any("error", err))
	}
	for _, err := range n.roster.update(t) {
		n.log().Warn("kazahana: a member is left out", slog.Any("error", err))
	}
	if p.lost == nil || lists(t, p.owner) {
		n.listed.Do(func() { close(n.ready) })
	}
}

func lists(t placement.Topology, o placement.Owner) bool {
	return slices.ContainsFunc(t.Members, func(m placement.Member) bool { return m.Owner == o })
}
