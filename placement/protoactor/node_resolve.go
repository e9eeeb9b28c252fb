// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"

	"github.com/kazahana-db/kazahana/placement"
)

// maxForwards bounds how often a lookup is forwarded: to the authority, and from there to
// the owner of the key.
const maxForwards = 2

// errElsewhere says that a member which was asked for a key does not have it.
var errElsewhere = errors.New("protoactor: the member that was asked does not have the identity")

// Resolve returns the PID of the actor of an identity, and activates it if need
// be, here or elsewhere. It waits until ctx ends, at most for [Options.Timeout]. The
// errors are [ErrClosed], [ErrLost], a *placement.KeyError, a *placement.NoMemberError, and at
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
	if err == nil && r.Locality == placement.Local {
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
func (n *Node) localPID(p *part, r placement.Resolution) (*actor.PID, error) {
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
