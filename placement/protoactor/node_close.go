// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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
	if p := n.currentPart(); p != nil {
		p.driver.Passivate(a.key, a.epoch)
	}
}
