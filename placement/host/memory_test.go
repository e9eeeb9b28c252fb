// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/placement/memory"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
)

// cluster is one in memory; a test can evict its members.
type cluster struct {
	t       *testing.T
	home    *memory.Home
	network *hosttest.Network

	unreachable bool // entries cannot be removed
	mu          sync.Mutex
	rejoined    int // members, in the place of a membership that they had lost
	version     int64
	epochs      map[string]int64
	members     map[string]*member
	changed     chan struct{} // closed at the next change
}

func newCluster(t *testing.T) *cluster {
	home, err := memory.New(memory.Options{Kept: true})
	if err != nil {
		panic(err)
	}
	return &cluster{
		t: t, home: home, network: hosttest.NewNetwork(),
		epochs: make(map[string]int64), members: make(map[string]*member), changed: make(chan struct{}),
	}
}

var errAlive = errors.New("a member of the name is alive")

// change changes the members under a new version.
func (c *cluster) change(fn func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := fn(); err != nil {
		return err
	}
	c.version++
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

func (c *cluster) joinMember(_ context.Context, m placement.Member) (host.Seat, error) {
	s := &member{cluster: c, Member: m}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	err := c.change(func() error {
		if c.members[m.Name] != nil {
			return errAlive
		}
		c.epochs[m.Name]++
		s.Incarnation = c.epochs[m.Name]
		c.members[m.Name] = s
		return nil
	})
	return s, err
}

func (c *cluster) watchMembers(ctx context.Context, deliver func(placement.Topology)) error {
	for {
		t, changed := c.topology()
		deliver(t)
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *cluster) topology() (placement.Topology, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := placement.Topology{Version: c.version + 1}
	for _, name := range slices.Sorted(maps.Keys(c.members)) {
		t.Members = append(t.Members, c.members[name].Member)
	}
	return t, c.changed
}

// evict says that the member of a name is dead. The member itself learns of it only if told.
func (c *cluster) evict(name string, tell bool) {
	_ = c.change(func() error {
		m := c.members[name]
		c.home.Evict(m.Member.Owner)
		delete(c.members, name)
		if tell {
			m.cancel(errors.New("evicted"))
		}
		return nil
	})
}

// options returns those of a member of a name, and its transport.
func (c *cluster) options(o host.Options) (host.TestCluster, host.Options, *hosttest.Peer) {
	peer := c.network.Listen(o.Name)
	o.Transport = peer
	return host.TestCluster{Join: c.joinMember, Watch: c.watchMembers, Homes: func(e driver.Executor) driver.Homes {
		homes := driver.Homes{Lock: c.home, Storage: c.home, Executor: e}
		if c.unreachable {
			homes.Storage = lostStorage{c.home}
		}
		return homes
	}}, o, peer
}

// member is a seat.
type member struct {
	placement.Member
	cluster *cluster
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

func (m *member) Owner() placement.Owner   { return m.Member.Owner }
func (m *member) Context() context.Context { return m.ctx }

func (m *member) Drain(context.Context) error {
	return m.cluster.change(func() error { m.Draining = true; return nil })
}

func (m *member) Rejoin(ctx context.Context) (host.Seat, error) {
	m.cluster.mu.Lock()
	m.cluster.rejoined++
	m.cluster.mu.Unlock()
	return m.cluster.joinMember(ctx, m.Member)
}

func (m *member) Leave(context.Context) error {
	m.cancel(errors.New("left"))
	return m.cluster.change(func() error {
		if m.cluster.members[m.Name] == m {
			delete(m.cluster.members, m.Name)
			m.cluster.home.Evict(m.Member.Owner)
		}
		return nil
	})
}

func (m *member) SetLoad(n int64) {
	m.cluster.mu.Lock()
	defer m.cluster.mu.Unlock()
	m.Load = n
}

func (m *member) String() string { return fmt.Sprint(m.Member.Owner) }
