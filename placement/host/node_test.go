// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/hosttest"
)

// node is a host of a test with its handles.
type node struct {
	*host.Host
	peer *hosttest.Peer
	methods
}

type methods struct {
	add, retried *host.Method[time.Duration, int64]
	hang         *host.Method[time.Duration, string]
}

// open returns a host of the name, which has not been started.
func (c *cluster) open(l *ledger, o host.Options) *node {
	c.t.Helper()
	on, o, peer := c.options(o)
	o.Logger = slog.New(slog.DiscardHandler)
	n := &node{Host: host.NewOn(on, o), peer: peer}
	var errs [4]error
	var kind *host.Kind[*counter]
	kind, errs[0] = host.Register(n.Host, "counter", l.open)
	n.add, errs[1] = host.Handle(kind, "add", (*counter).add)
	n.retried, errs[2] = host.Handle(kind, "retried", (*counter).add, host.Idempotent)
	n.hang, errs[3] = host.Handle(kind, "hang", (*counter).hang)
	if err := errors.Join(errs[:]...); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// start starts hosts of the names.
func (c *cluster) start(l *ledger, names ...string) (nodes []*node) {
	c.t.Helper()
	for _, name := range names {
		n := c.open(l, host.Options{Name: name})
		if err := n.Start(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func stop(t *testing.T, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.Stop(context.Background()); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
}

// client returns a client that has been started, and its handles.
func (c *cluster) client() (*host.Client, methods) {
	c.t.Helper()
	on, o, _ := c.options(host.Options{Name: "client"})
	client := host.NewClientOn(on, o)
	var m methods
	var errs [4]error
	m.add, errs[0] = host.MethodOf[time.Duration, int64](client, "counter", "add")
	m.retried, errs[1] = host.MethodOf[time.Duration, int64](client, "counter", "retried", host.Idempotent)
	m.hang, errs[2] = host.MethodOf[time.Duration, string](client, "counter", "hang")
	errs[3] = client.Start(c.t.Context())
	if err := errors.Join(errs[:]...); err != nil {
		c.t.Fatal(err)
	}
	return client, m
}

func (n *node) owner(t *testing.T) placement.Owner {
	t.Helper()
	owner, ok := n.Member()
	if !ok {
		t.Fatal("it is no member")
	}
	return owner
}

// ownedBy returns an id whose activation is at the node after a call.
func (c *cluster) ownedBy(n *node) string {
	c.t.Helper()
	for i := range 1000 {
		id := fmt.Sprint("id ", i)
		if _, err := n.add.Call(c.t.Context(), id, 0); err != nil {
			c.t.Fatal(err)
		}
		if h, ok := c.home.Holder(placement.Key{Kind: "counter", ID: id}); ok && h.Owner == n.owner(c.t) {
			return id
		}
	}
	c.t.Fatal("the member has none of 1000 keys")
	return ""
}
