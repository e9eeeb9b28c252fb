// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

// Members that the source does not list get nothing, and hand over what they have.
func TestSourceSaysWhoIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l, s := newCluster(t), newLedger(), newList("a", "b")
		nodes := c.startListed(l, s, "a", "b", "c")
		if has := c.callAll(nodes...); has["a"] == 0 || has["b"] == 0 || has["c"] != 0 {
			t.Errorf("a and b are listed: %v", has)
		}
		s.set("b", "c", "not started")
		time.Sleep(time.Minute) // nothing is called
		if has := c.callAll(nodes...); has["a"] != 0 || has["b"] == 0 || has["c"] == 0 {
			t.Errorf("b and c are listed: %v", has)
		}
		s.change(func() {
			s.latest.Version++
			s.latest.Members = []placement.Member{{Owner: placement.Owner{Name: "b"}, Draining: true}, {Owner: placement.Owner{Name: "c"}}}
		})
		time.Sleep(time.Minute)
		if has := c.callAll(nodes...); has["c"] != listedKeys {
			t.Errorf("b is to drain: %v", has)
		}
		l.check(t)
		stop(t, nodes...)
	})
}

// A member that has died gets nothing, though the source still lists it; its keys are reachable
// again once the database has found that out, and so they are if the source was first.
func TestSourceAndDeath(t *testing.T) {
	for _, first := range []string{"the source", "the database"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l, s := newCluster(t), newLedger(), newList("a", "b")
				nodes := c.startListed(l, s, "a", "b")
				c.callAll(nodes...)
				held := c.ownedBy(nodes[0])
				nodes[0].peer.Kill()
				if first == "the source" {
					s.set("b")
					time.Sleep(time.Second)
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					if _, err := nodes[1].add.Call(ctx, held, 0); !errors.Is(err, host.ErrUnreachable) || errors.Is(err, host.ErrOutcomeUnknown) {
						t.Errorf("a call of what the dead member still owns: %v", err)
					}
				}
				if h, _ := c.home.Holder(placement.Key{Kind: "counter", ID: held}); h.Owner != nodes[0].owner(t) {
					t.Errorf("%v has the key of a member with a lease in force", h)
				}
				clear(l.active) // of the process that died
				c.evict("a", false)
				if has := c.callAll(nodes[1]); has["b"] != listedKeys {
					t.Errorf("after the eviction: %v", has)
				}
				l.check(t)
				stop(t, nodes[1])
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				_ = nodes[0].Stop(ended)
				time.Sleep(time.Minute)
			})
		})
	}
}

// Processes that are told different things never have a key twice.
func TestSourcesThatDisagree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l := newCluster(t), newLedger()
		ofA, ofB := newList("a"), newList("a")
		a := c.startListed(l, ofA, "a")[0]
		b := c.startListed(l, ofB, "b")[0]
		c.callAll(a, b)
		ofB.set("b") // only b believes that
		time.Sleep(time.Minute)
		if has := c.callAll(b, a); has["a"] != listedKeys {
			t.Errorf("what a has stays there: %v", has)
		}
		h, _ := c.home.Holder(placement.Key{Kind: "counter", ID: "0"})
		if _, err := b.add.Call(t.Context(), "of b", 0); err != nil {
			t.Error(err)
		}
		if _, err := a.add.Call(t.Context(), "of b", 0); err != nil {
			t.Errorf("a takes itself for the owner, and finds out who is: %v", err)
		}
		ofA.set("b") // which is now agreed
		time.Sleep(time.Minute)
		if has := c.callAll(a, b); has["b"] != listedKeys {
			t.Errorf("after they agree: %v", has)
		}
		if now, _ := c.home.Holder(placement.Key{Kind: "counter", ID: "0"}); now.Epoch <= h.Epoch {
			t.Errorf("the epoch was %d and is %d", h.Epoch, now.Epoch)
		}
		ofA.set("b")
		ofB.set("a") // each takes the other for the owner
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.add.Call(ctx, "of none", 0); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, host.ErrOutcomeUnknown) {
			t.Errorf("a call while each takes the other for the owner: %v", err)
		}
		ofB.set("b")
		if _, err := a.add.Call(t.Context(), "of none", 0); err != nil || l.counts["of none"] != 1 {
			t.Errorf("after they agree: %v, %d calls were handled", err, l.counts["of none"])
		}
		l.check(t)
		stop(t, a, b)
	})
}

// A source that lists no member stops nothing that is active.
func TestSourceListsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l, s := newCluster(t), newLedger(), newList("a")
		a := c.startListed(l, s, "a")[0]
		c.callAll(a)
		s.set("another name")
		time.Sleep(time.Minute)
		if _, err := a.add.Call(t.Context(), "new", 0); !errors.Is(err, placement.ErrNoMember) {
			t.Errorf("a call of a new key: %v", err)
		}
		if has := c.callAll(a); has["a"] != listedKeys || l.opened != listedKeys {
			t.Errorf("what was active: %v; %d activations were made", has, l.opened)
		}
		s.set("a")
		time.Sleep(time.Second)
		if _, err := a.add.Call(t.Context(), "new", 0); err != nil {
			t.Error(err)
		}
		stop(t, a)
	})
}

// While the source fails, or tells what cannot be, its last word stays in force; the host finds out about
// deaths, and joins again. A source that is called again may count anew.
func TestSourceThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l, s := newCluster(t), newLedger(), newList("a", "b")
		nodes := c.startListed(l, s, "a", "b")
		var good placement.Topology
		s.change(func() { good = s.latest })
		s.set("a", "a", "")
		s.change(func() { s.latest.Version = math.MaxInt64 })
		time.Sleep(time.Second)
		if has := c.callAll(nodes...); has["a"] == 0 || has["b"] == 0 {
			t.Errorf("after a topology with faults: %v", has)
		}
		s.change(func() { s.err = errors.New("it does not answer") })
		time.Sleep(time.Minute)
		s.change(func() {
			if s.calls < 20 || s.calls > 1000 {
				t.Errorf("the source was called %d times", s.calls)
			}
		})
		incarnation := nodes[0].owner(t).Incarnation
		c.evict("a", true)
		time.Sleep(time.Minute)
		if has := c.callAll(nodes...); has["a"] == 0 || has["b"] == 0 || nodes[0].owner(t).Incarnation <= incarnation {
			t.Errorf("after a was lost and has joined again: %v, as %v", has, nodes[0].owner(t))
		}
		s.change(func() { s.err, s.latest = nil, placement.Topology{Version: 1, Members: good.Members[:1]} })
		time.Sleep(time.Minute)
		if has := c.callAll(nodes...); has["a"] != listedKeys {
			t.Errorf("only a is listed: %v", has)
		}
		l.check(t)
		stop(t, nodes...)
	})
}

// A client also follows the source, and a list that never changes is one.
func TestClientWithASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l, s := newCluster(t), newLedger(), newList("b")
		nodes := c.startListed(l, s, "a", "b")
		on, o, _ := c.options(host.Options{Name: "client", Source: func(_ context.Context, deliver func(placement.Topology)) error {
			deliver(s.latest)
			return nil
		}})
		client := host.NewClientOn(on, o)
		if err := client.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sent []string
		c.network.Observe(func(address string, _ host.Request) { sent = append(sent, address) })
		add, err := host.MethodOf[time.Duration, int64](client, "counter", "add")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if _, err := add.Call(t.Context(), fmt.Sprint(i), 0); err != nil {
				t.Error(err)
			}
		}
		for _, address := range sent {
			if address != "b" {
				t.Errorf("calls went to %v", sent)
			}
		}
		c.network.Observe(nil)
		stop(t, nodes...)
		_ = client.Stop(t.Context())
	})
}

// A host does not start before the source has told anything.
func TestStartWaitsForTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, l, s := newCluster(t), newLedger(), newList()
		s.err = errors.New("it does not answer")
		n := c.open(l, host.Options{Name: "a", Source: s.source})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := n.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start: %v", err)
		}
		s.change(func() { s.err = nil })
		if err := n.Start(t.Context()); err != nil {
			t.Errorf("Start once the source lists something, though not this host: %v", err)
		}
		stop(t, n)
	})
}

// list is a membership of a program's own, as one of its processes sees it.
type list struct {
	mu      sync.Mutex
	latest  placement.Topology
	changed chan struct{} // closed at the next change
	err     error         // with which the source fails
	calls   int
}

// newList returns a list of the names.
func newList(names ...string) *list {
	l := &list{changed: make(chan struct{})}
	l.set(names...)
	return l
}

// set lists the names, under incarnations that no database has.
func (l *list) set(names ...string) {
	t := placement.Topology{}
	for _, name := range names {
		t.Members = append(t.Members, placement.Member{Owner: placement.Owner{Name: name, Incarnation: 1 << 40}, Kinds: []string{"another"}})
	}
	l.change(func() {
		t.Version = l.latest.Version + 1
		l.latest = t
	})
}

func (l *list) change(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fn()
	close(l.changed)
	l.changed = make(chan struct{})
}

// source is a membership.Source.
func (l *list) source(ctx context.Context, deliver func(placement.Topology)) error {
	l.mu.Lock()
	l.calls++
	l.mu.Unlock()
	for {
		l.mu.Lock()
		latest, changed, err := l.latest, l.changed, l.err
		l.mu.Unlock()
		if err != nil {
			return err
		}
		deliver(latest)
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// startListed starts hosts of the names, which learn from the list which members to use.
func (c *cluster) startListed(l *ledger, s *list, names ...string) (nodes []*node) {
	c.t.Helper()
	for _, name := range names {
		n := c.open(l, host.Options{Name: name, Source: s.source})
		if err := n.Start(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	time.Sleep(time.Second) // until all know all
	return nodes
}

const listedKeys = 40

// callAll calls all keys from all nodes and returns how many keys each member then has.
func (c *cluster) callAll(nodes ...*node) map[string]int {
	c.t.Helper()
	has := map[string]int{}
	for i := range listedKeys {
		for _, n := range nodes {
			if _, err := n.add.Call(c.t.Context(), fmt.Sprint(i), 0); err != nil {
				c.t.Errorf("a call of %d: %v", i, err)
			}
		}
		h, _ := c.home.Holder(placement.Key{Kind: "counter", ID: fmt.Sprint(i)})
		has[h.Owner.Name]++
	}
	return has
}
