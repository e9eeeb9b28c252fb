// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/placement"
)

type lookup struct{ node *Node }

// Get implements [cluster.IdentityLookup].
func (l lookup) Get(ci *cluster.ClusterIdentity) *actor.PID {
	pid, err := l.node.Resolve(l.node.ctx, ci.GetIdentity(), ci.GetKind())
	if err != nil {
		l.node.log().Warn("kazahana: the lookup failed", slog.String("kind", ci.GetKind()), slog.String("identity", ci.GetIdentity()), slog.Any("error", err))
		return nil
	}
	return pid
}

// RemovePid implements [cluster.IdentityLookup]. It does nothing: the node observes the end
// of the actor itself.
func (l lookup) RemovePid(*cluster.ClusterIdentity, *actor.PID) {}

// Setup implements [cluster.IdentityLookup].
func (l lookup) Setup(c *cluster.Cluster, kinds []string, isClient bool) {
	n := l.node
	if !n.beginSetup(c, kinds, isClient) {
		c.Logger().Error("kazahana: the lookup is not set up", slog.Any("error", ErrInUse))
		return
	}
	if err := validKinds(kinds); err != nil {
		n.failNode(err)
		return
	}
	c.ActorSystem.Extensions.Register(n)
	activator, err := c.ActorSystem.Root.SpawnNamed(actor.PropsFromFunc(n.receiveRequest), activatorName)
	if err != nil {
		n.failNode(fmt.Errorf("protoactor: spawning the actor %q: %w", activatorName, err))
		return
	}
	n.activator = activator
	go n.joinAndRun()
}

// Shutdown implements [cluster.IdentityLookup]. The cluster calls it twice.
func (l lookup) Shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), l.node.o.StopTimeout)
	defer cancel()
	if err := l.node.Close(ctx); err != nil {
		l.node.log().Error("kazahana: not everything was handed back", slog.Any("error", err))
	}
}

// validKinds returns all faults of kinds. The cluster caches PIDs by
// identity.kind, so that with a "." in a kind two identities could have the same entry.
func validKinds(kinds []string) error {
	var faults []error
	for _, kind := range kinds {
		if err := (placement.Key{Kind: kind, ID: "-"}).Validate(); err != nil {
			faults = append(faults, err)
		}
		if strings.Contains(kind, ".") {
			faults = append(faults, fmt.Errorf(`the kind %q contains ".": protoactor-go's cache of PIDs would mix up identities`, kind))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("protoactor: the kinds of the cluster are invalid: %w", err)
	}
	return nil
}

// maxForwards bounds how often a lookup is forwarded: to the authority, and from there to
// the owner of the key.
const maxForwards = 2

// errElsewhere says that a member which was asked for a key does not have it.
var errElsewhere = errors.New("protoactor: the member that was asked does not have the identity")

// Resolve returns the PID of the actor of an identity, and activates it if need
// be, here or elsewhere. It waits until ctx ends, at most for [Options.Timeout]. The
// errors are [ErrClosed], [ErrLost], placement.ErrInvalidKey, placement.ErrNoMember, and at
// the end of the time the last error.
func (n *Node) Resolve(ctx context.Context, identity, kind string) (*actor.PID, error) {
	ctx, cancel := context.WithTimeout(ctx, n.o.Timeout)
	defer cancel()
	p, err := n.awaitReady(ctx)
	if err != nil {
		return nil, err
	}
	key := placement.Key{Kind: kind, ID: identity}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		pid, err := n.locateActor(ctx, p, query{key: key, forwards: maxForwards})
		if err == nil || !retryable(err) {
			return pid, err
		}
		if !n.pause(ctx, rand.N(pause)) {
			return nil, fmt.Errorf("protoactor: %s was not found in time: %w", key, err)
		}
	}
}

// The pauses between attempts: up to the first, doubled up to the longest.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// awaitReady waits until lookups can be answered.
func (n *Node) awaitReady(ctx context.Context) (*part, error) {
	select {
	case <-n.ready:
	case <-n.ctx.Done():
		return nil, context.Cause(n.ctx)
	case <-ctx.Done():
		return nil, fmt.Errorf("protoactor: the node has not joined yet: %w", context.Cause(ctx))
	}
	if n.ctx.Err() != nil {
		return nil, context.Cause(n.ctx)
	}
	return n.currentPart(), nil
}

// pause waits, and reports whether time is left after it.
func (n *Node) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-n.ctx.Done():
	case <-ctx.Done():
	}
	return false
}

func retryable(err error) bool {
	return errors.Is(err, errElsewhere) || errors.Is(err, actor.ErrTimeout) || errors.Is(err, actor.ErrDeadLetter)
}

// locateActor finds or activates a key.
func (n *Node) locateActor(ctx context.Context, p *part, q query) (*actor.PID, error) {
	r, err := p.driver.Resolve(ctx, q.key)
	if err == nil && r.Locality == core.Local {
		return n.localPID(p, r)
	}
	if q.assumed != 0 {
		p.driver.Forget(q.key, placement.Holder{Owner: p.owner, Epoch: q.assumed})
	}
	switch {
	case err != nil:
		return nil, err
	case q.forwards == 0 || r.Address == "":
		return nil, errElsewhere
	}
	pid, err := n.askMember(ctx, r.Address, query{q.key, q.forwards - 1, r.Epoch})
	if err != nil && r.Epoch != 0 {
		p.driver.Forget(q.key, placement.Holder{Owner: r.Owner, Address: r.Address, Epoch: r.Epoch})
	}
	return pid, err
}

// localPID returns the PID of an activation of this node, unless its actor has stopped
// a moment ago.
func (n *Node) localPID(p *part, r core.Resolution) (*actor.PID, error) {
	a := n.activations.get(r.Decision.Key, r.Epoch)
	if a == nil || a.hasEnded() {
		p.driver.Passivate(r.Decision.Key, r.Epoch)
		return nil, errElsewhere
	}
	return a.pid, nil
}

// askMember asks the member at an address.
func (n *Node) askMember(ctx context.Context, address string, q query) (*actor.PID, error) {
	to := actor.NewPID(address, activatorName)
	answer, err := n.cluster.ActorSystem.Root.RequestFuture(to, q.asRequest(), n.askTimeout(ctx)).Result()
	if err != nil {
		return nil, fmt.Errorf("protoactor: asking %s for %s: %w", address, q.key, err)
	}
	if r, ok := answer.(*cluster.ActivationResponse); ok && !r.Failed && r.Pid != nil {
		return r.Pid, nil
	}
	return nil, fmt.Errorf("%w: %s at %s", errElsewhere, q.key, address)
}

// askTimeout returns how long to wait for a member's answer: not so long that no time is left
// for another member if this one is dead.
func (n *Node) askTimeout(ctx context.Context) time.Duration {
	d := n.o.Timeout / 4
	if deadline, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(deadline))
	}
	return max(d, time.Millisecond)
}

// receiveRequest is the receive function of the actor that answers other members' lookups.
func (n *Node) receiveRequest(ctx actor.Context) {
	request, ok := ctx.Message().(*cluster.ActivationRequest)
	if !ok || ctx.Sender() == nil {
		return
	}
	root, to := ctx.ActorSystem().Root, ctx.Sender()
	select {
	case n.asked <- struct{}{}:
		go func() {
			defer func() { <-n.asked }()
			root.Send(to, n.answerOnce(request))
		}()
	default:
		root.Send(to, &cluster.ActivationResponse{Failed: true})
	}
}

// answerOnce makes one attempt. The asking member repeats it, with newer knowledge.
func (n *Node) answerOnce(request *cluster.ActivationRequest) *cluster.ActivationResponse {
	ctx, cancel := context.WithTimeout(n.ctx, n.o.Timeout/4)
	defer cancel()
	pid, err := n.locateFor(ctx, request)
	if err != nil {
		n.log().Debug("kazahana: another member asked in vain", slog.Any("request", request), slog.Any("error", err))
		return &cluster.ActivationResponse{Failed: true}
	}
	return &cluster.ActivationResponse{Pid: pid}
}

func (n *Node) locateFor(ctx context.Context, request *cluster.ActivationRequest) (*actor.PID, error) {
	q, err := parseQuery(request)
	if err != nil {
		return nil, err
	}
	p, err := n.awaitReady(ctx)
	if err != nil {
		return nil, err
	}
	return n.locateActor(ctx, p, q)
}

// query asks a member where a key is active.
type query struct {
	key      placement.Key
	forwards int // how often it may be forwarded
	// assumed is the epoch under which, as far as the asking member knows, the key is active
	// at the asked one; 0: it knows nothing, and asks the authority.
	assumed int64
}

// asRequest returns the query as protoactor-go's request. Its id carries what
// has no field: forwards/assumed.
func (q query) asRequest() *cluster.ActivationRequest {
	return &cluster.ActivationRequest{
		ClusterIdentity: cluster.NewClusterIdentity(q.key.ID, q.key.Kind),
		RequestId:       fmt.Sprintf("%d/%d", q.forwards, q.assumed),
	}
}

// parseQuery returns the query of a message.
func parseQuery(m *cluster.ActivationRequest) (query, error) {
	q := query{key: placement.Key{Kind: m.GetClusterIdentity().GetKind(), ID: m.GetClusterIdentity().GetIdentity()}}
	if n, err := fmt.Sscanf(m.GetRequestId(), "%d/%d", &q.forwards, &q.assumed); n != 2 {
		return q, fmt.Errorf("protoactor: the request id %.80q is not one of this package: %w", m.GetRequestId(), err)
	}
	if q.forwards < 0 || q.forwards >= maxForwards || q.assumed < 0 {
		return q, fmt.Errorf("protoactor: the request id %.80q is out of range", m.GetRequestId())
	}
	return q, nil
}

// activatorName is the name of the actor that answers lookups of other members.
const activatorName = "kazahana"

// pidOf returns the PID of an activation: kazahana/kind/id/epoch. No earlier activation had
// it, so that messages to an earlier one do not reach a later one.
func pidOf(address string, key placement.Key, epoch int64) *actor.PID {
	return actor.NewPID(address, activatorName+"/"+key.Kind+"/"+key.ID+"/"+strconv.FormatInt(epoch, 10))
}

// parsePID returns the key and the epoch that a PID names. An id may contain "/".
func parsePID(id string) (placement.Key, int64, bool) {
	rest, ours := strings.CutPrefix(id, activatorName+"/")
	last := strings.LastIndexByte(rest, '/')
	if !ours || last < 0 {
		return placement.Key{}, 0, false
	}
	epoch, err := strconv.ParseInt(rest[last+1:], 10, 64)
	if err != nil {
		return placement.Key{}, 0, false
	}
	key, err := placement.ParseKey(rest[:last])
	return key, epoch, err == nil
}
