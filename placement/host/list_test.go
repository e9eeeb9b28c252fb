// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
)

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
