// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/extensions"
	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// Options say how a [Node] takes part. The zero Options are useful.
type Options struct {
	// Name names the member. A member that restarts under its name waits until the lease of
	// its former run has lapsed, unless that left. Default: the address of the actor system.
	// Set a name if the port changes with each start: the database keeps names for ever.
	Name string
	// Labels are for the strategy, such as a role or a zone.
	Labels map[string]string
	// Strategy chooses the member that activates an identity. All nodes of a
	// cluster use the same. Default: rendezvous hashing.
	Strategy placement.Strategy
	// Layer and Path are the directory of members and claims in the database, which are in
	// the directories members and placement below it. All nodes of a cluster use the same;
	// clusters that share a database use different ones. Default: directory.Root(), kazahana.
	Layer *directory.Layer
	Path  []string
	// Duration is how long other members treat a member as alive after it has stopped renewing.
	// A member that is cut off ends its actors when this time has passed since its last renewal.
	// Default: 10 s; at least 300 ms.
	Duration time.Duration
	// Timeout is how long one lookup waits for an activation. Default: 5 s.
	Timeout time.Duration
	// StartTimeout is how long the provider waits until the member is listed. It
	// should be greater than Duration. Default: 30 s.
	StartTimeout time.Duration
	// StopTimeout is how long Shutdown waits until all actors have stopped and
	// their claims are back. What is left then is free once the member has lapsed. Default: 10 s.
	StopTimeout time.Duration
	// IdleAfter ends an activation when its actor has handled no message for so long, at the
	// latest after twice that time. Default: never. An actor may stop itself whenever it wants.
	IdleAfter time.Duration
	// Events is told of each step of the placement, in order. It must not block for long.
	Events func(placement.Event)
	// Logger gets the errors in the background. Default: the actor system's.
	Logger *slog.Logger
}

// The defaults and the bounds of [Options].
const (
	defaultDuration     = 10 * time.Second
	minDuration         = 300 * time.Millisecond
	defaultTimeout      = 5 * time.Second
	defaultStartTimeout = 30 * time.Second
	defaultStopTimeout  = 10 * time.Second
)

// Validate returns all faults of the options, joined.
func (o Options) Validate() error {
	var faults []error
	for _, option := range []struct {
		name  string
		value time.Duration
	}{{"Timeout", o.Timeout}, {"StartTimeout", o.StartTimeout}, {"StopTimeout", o.StopTimeout}, {"IdleAfter", o.IdleAfter}} {
		if option.value < 0 {
			faults = append(faults, fmt.Errorf("protoactor: %s is %v; it must not be negative", option.name, option.value))
		}
	}
	if o.Duration != 0 && o.Duration < minDuration {
		faults = append(faults, fmt.Errorf("protoactor: Duration is %v; it must be at least %v", o.Duration, minDuration))
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	if o.Path == nil {
		o.Path = []string{"kazahana"}
	}
	o.Duration = cmp.Or(o.Duration, defaultDuration)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.StartTimeout = cmp.Or(o.StartTimeout, defaultStartTimeout)
	o.StopTimeout = cmp.Or(o.StopTimeout, defaultStopTimeout)
	return o
}

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

// Node is the part of one actor system in a cluster that keeps its members and
// activations in a database. Its [Node.Lookup] and, unless members are
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

// Close hands everything back and leaves: other members no longer choose this one, its
// actors handle the messages in their mailboxes and stop, their claims are freed, and the
// member leaves. If ctx ends before, the error says what is left; others take that over
// once the member's lease has lapsed. A second call waits for the first. A graceful Shutdown
// of the cluster closes the node; otherwise the node notices within a second that its actor
// system was shut down.
//
// Close a client by Close and cluster.Remote.Shutdown: protoactor-go's own Shutdown fails
// for clients, because they have no gossip.
func (n *Node) Close(ctx context.Context) error {
	var err error
	n.closed.Do(func() {
		defer close(n.done)
		err = n.handBack(ctx)
	})
	select {
	case <-n.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (n *Node) handBack(ctx context.Context) error {
	n.mu.Lock()
	n.closing = true
	n.mu.Unlock()
	p := n.currentPart()
	var faults []error
	if p != nil && n.ctx.Err() == nil {
		faults = append(faults, named("drain", p.drain(ctx)), named("stop", p.driver.Stop(ctx)), named("leave", p.leave(ctx)))
	}
	n.cancel(ErrClosed)
	if n.activator != nil {
		n.cluster.ActorSystem.Root.Stop(n.activator)
	}
	return errors.Join(faults...)
}

func named(step string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("protoactor: %s: %w", step, err)
}

// observeSystem closes the node when its actor system was shut down without it.
func (n *Node) observeSystem() {
	for n.pause(n.ctx, time.Second) {
		if n.cluster.ActorSystem.IsStopped() {
			n.log().Warn("kazahana: the actor system was shut down; the node hands back what it has")
			lookup{n}.Shutdown()
			return
		}
	}
}

// loseMember ends a member that is dead to others.
func (n *Node) loseMember(p *part, cause error) {
	n.mu.Lock()
	closing := n.closing
	n.mu.Unlock()
	if closing || n.ctx.Err() != nil {
		return
	}
	p.driver.LoseAll()
	n.failNode(fmt.Errorf("%w: %w", ErrLost, cause))
}

// noteEnd handles the end of an actor. If the node did not stop it, its claim is freed.
func (n *Node) noteEnd(a *Activation) {
	n.activations.remove(a)
	n.passivate(a)
}

// passivate lets the driver end an activation.
func (n *Node) passivate(a *Activation) {
	if p := n.currentPart(); p != nil {
		p.driver.Passivate(a.key, a.epoch)
	}
}
