// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/extensions"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// extensionID is that of a [Node] in its actor system.
var extensionID = extensions.NextExtensionID()

// The errors of lookups.
var (
	// ErrClosed says that the node was shut down.
	ErrClosed = errors.New("protoactor: the node is shut down")
	// ErrLost says that the member is dead to others: its lease lapsed. All its
	// actors were stopped. The program makes a new actor system, with a new node.
	ErrLost = errors.New("protoactor: the member is lost; start a new actor system with a new node")
	// ErrInUse says that a node was given to a second cluster.
	ErrInUse = errors.New("protoactor: the node is part of a cluster already; each cluster needs a node of its own")
)

// Node is the part of one actor system in a cluster whose members and
// activations are in a database. Its [Node.Lookup] and, unless members are
// known otherwise, its [Node.Provider] are for [cluster.Configure]. A node is for one
// cluster.Cluster, once. It is safe for concurrent use.
type Node struct {
	db kv.Database
	o  Options

	ctx    context.Context // ends when the node is closed or lost
	cancel context.CancelCauseFunc
	ready  chan struct{} // closed once lookups can be answered
	listed sync.Once     // closes ready
	closed sync.Once
	done   chan struct{} // closed once Close has done everything

	activations activations
	asked       chan struct{} // a place for each lookup of another member under way

	// Set by Setup, before anything else runs.
	cluster   *cluster.Cluster
	kinds     []string
	client    bool
	activator *actor.PID

	mu      sync.Mutex
	began   bool
	closing bool
	part    *part // nil until joined

	roster roster
}

// maxAsked bounds the lookups of other members that are answered at once. Further ones are
// refused, and the other members try again.
const maxAsked = 1000

// New returns a node that keeps members and claims in db. Nothing is read or
// written before the cluster starts. The error has all faults of the options.
func New(db kv.Database, o Options) (*Node, error) {
	if db == nil {
		return nil, errors.New("protoactor: the database is nil")
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	n := &Node{
		db: db, o: o.withDefaults(),
		ready: make(chan struct{}), done: make(chan struct{}),
		activations: activations{byKey: map[placement.Key]*Activation{}},
		asked:       make(chan struct{}, maxAsked),
	}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	return n, nil
}

// Context returns a context that ends when the node is shut down, with cause
// [ErrClosed], when it is lost, with an [ErrLost], or when it could not start. To go on,
// the program makes a new actor system.
func (n *Node) Context() context.Context { return n.ctx }

// Snapshot returns the state of the node; the zero value before it has joined.
func (n *Node) Snapshot() placement.Snapshot {
	if p := n.currentPart(); p != nil {
		return p.driver.Snapshot()
	}
	return placement.Snapshot{}
}

// Explain says why an identity is where it is: the last decision, the
// candidates with their scores, the activation. It is zero before the node has joined.
func (n *Node) Explain(identity, kind string) placement.Explanation {
	if p := n.currentPart(); p != nil {
		return p.driver.Explain(placement.Key{Kind: kind, ID: identity})
	}
	return placement.Explanation{}
}

// Owner returns the name and the incarnation of the node as a member; zero for clients and
// before it has joined.
func (n *Node) Owner() placement.Owner {
	if p := n.currentPart(); p != nil {
		return p.owner
	}
	return placement.Owner{}
}

// ExtensionID implements [extensions.Extension], by which an actor system finds its node.
func (n *Node) ExtensionID() extensions.ExtensionID { return extensionID }

func (n *Node) currentPart() *part {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.part
}

func (n *Node) log() *slog.Logger {
	if n.o.Logger != nil {
		return n.o.Logger
	}
	return n.cluster.Logger()
}

// failNode ends the node: it answers no more lookups.
func (n *Node) failNode(err error) {
	if n.ctx.Err() == nil {
		n.log().Error("kazahana: the node has ended", slog.Any("error", err))
	}
	n.cancel(err)
}

// part is a node's part in the cluster once it has joined.
type part struct {
	owner    placement.Owner // zero: a client
	driver   *driver.Driver
	registry *membership.Registry
	lost     context.Context // ends when the member is lost; nil: a client
	drain    func(context.Context) error
	leave    func(context.Context) error
}

// Lookup returns the identity lookup for [cluster.Configure].
//
// The cluster calls Setup, which joins in the background, and Shutdown, which is
// [Node.Close]. Get waits for at most [Options.Timeout], and returns nil if the identity
// could not be activated; [Node.Resolve] says why.
func (n *Node) Lookup() cluster.IdentityLookup { return lookup{n} }

// beginSetup sets the cluster of the node; false if it has one already.
func (n *Node) beginSetup(c *cluster.Cluster, kinds []string, client bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.began {
		return false
	}
	n.began = true
	n.cluster, n.kinds, n.client = c, kinds, client
	return true
}

// Provider returns the cluster provider for [cluster.Configure]: members find each
// other by the database, and no further system is needed. Use it together with
// [Node.Lookup] of the same node. With another provider, protoactor-go learns of
// members from that, and the lookup still uses the members in the database.
//
// StartMember and StartClient wait until the node is part of the cluster, at most
// for [Options.StartTimeout].
func (n *Node) Provider() cluster.ClusterProvider { return provider{n} }
