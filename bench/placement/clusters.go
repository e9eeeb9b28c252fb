// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/cluster/identitylookup/disthash"
	"github.com/asynkron/protoactor-go/remote"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement/protoactor"
)

// members is how many actor systems a cluster has.
const members = 2

// startOurs starts a cluster that keeps its members and claims in db.
func startOurs(db kv.Database) ([]*cluster.Cluster, error) {
	var all []*cluster.Cluster
	for i := range members {
		node, err := protoactor.New(db, protoactor.Options{Name: fmt.Sprintf("member-%d", i)})
		if err != nil {
			return nil, err
		}
		all = append(all, newCluster(node.Provider(), node.Lookup()))
	}
	startAll(all)
	return all, nil
}

// startTheirs starts a cluster with protoactor-go's lookup by hashing.
func startTheirs() []*cluster.Cluster {
	all := make([]*cluster.Cluster, 0, members)
	p := &static{}
	for range members {
		all = append(all, newCluster(p, disthash.New()))
	}
	startAll(all)
	p.publishAll()
	return all
}

func newCluster(p cluster.ClusterProvider, l cluster.IdentityLookup) *cluster.Cluster {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return quiet }))
	nothing := cluster.NewKind(kind, actor.PropsFromFunc(func(actor.Context) {}))
	return cluster.New(system, cluster.Configure("bench", p, l, remote.Configure("127.0.0.1", 0), cluster.WithKinds(nothing)))
}

// startAll starts members at once: each waits for a second.
func startAll(all []*cluster.Cluster) {
	var starting sync.WaitGroup
	for _, c := range all {
		starting.Go(c.StartMember)
	}
	starting.Wait()
}

// stopAll stops the clusters of a benchmark, without the pauses of Cluster.Shutdown.
func stopAll(all []*cluster.Cluster) error {
	for _, c := range all {
		c.IdentityLookup.Shutdown()
	}
	for _, c := range all {
		c.Remote.Shutdown(false)
	}
	return nil
}

// static is a provider that has the started members.
type static struct {
	mu  sync.Mutex
	all []*cluster.Cluster
}

// StartMember implements [cluster.ClusterProvider].
func (p *static) StartMember(c *cluster.Cluster) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, c)
	return nil
}

// StartClient implements [cluster.ClusterProvider].
func (p *static) StartClient(*cluster.Cluster) error { return errors.ErrUnsupported }

// Shutdown implements [cluster.ClusterProvider].
func (p *static) Shutdown(bool) error { return nil }

// publishAll gives the list of members to each of them.
func (p *static) publishAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list cluster.Members
	for _, c := range p.all {
		host, port, _ := c.ActorSystem.GetHostPort()
		list = append(list, &cluster.Member{Host: host, Port: int32(port), Id: c.ActorSystem.ID, Kinds: c.GetClusterKinds()})
	}
	for _, c := range p.all {
		c.MemberList.UpdateClusterTopology(list)
	}
}
