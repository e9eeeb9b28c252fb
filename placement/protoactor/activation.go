// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Activation is the claim under which an actor of the cluster runs. It is safe
// for concurrent use.
type Activation struct {
	key     placement.Key
	epoch   int64
	pid     *actor.PID
	kind    *cluster.ActivatedKind
	fence   leasefdb.Fence
	ctx     context.Context
	cancel  context.CancelCauseFunc
	unwatch func() bool // ends the wait for the loss of the member

	ended   chan struct{}       // closed once the actor has handled Stopped
	onEnd   func(a *Activation) // called then
	observe bool                // whether used is kept
	used    atomic.Int64        // when a message was last handled, in Unix nanoseconds
}

// ActivationOf returns the activation of ctx's actor. It is nil for actors that a [Node]
// did not activate, such as an actor's children.
func ActivationOf(ctx actor.Context) *Activation {
	n, _ := ctx.ActorSystem().Extensions.Get(extensionID).(*Node)
	if n == nil {
		return nil
	}
	key, epoch, ok := parsePID(ctx.Self().Id)
	if !ok {
		return nil
	}
	return n.activations.get(key, epoch)
}

// Key returns the kind and the identity of the actor.
func (a *Activation) Key() placement.Key { return a.key }

// Epoch returns the number of the claim. It is greater than that of every earlier
// activation of the identity, on any member. An outside system can refuse numbers
// smaller than one that it has seen, and so refuse late requests of former activations.
func (a *Activation) Epoch() int64 { return a.epoch }

// Fence returns the condition that the claim is still in force. A transaction that
// checks it commits only then:
//
//	a.Fence().Under(db).Transact(ctx, …)
func (a *Activation) Fence() leasefdb.Fence { return a.fence }

// Context returns a context that ends with the activation. Its cause is
// [placement.ErrActivationLost] if another member may have the identity: from then on only the fence
// keeps two actors of the identity from writing.
func (a *Activation) Context() context.Context { return a.ctx }

// observeMessages observes the messages of the actor.
func (a *Activation) observeMessages(next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(ctx actor.ReceiverContext, e *actor.MessageEnvelope) {
		switch e.Message.(type) {
		case *actor.Stopped:
			defer a.endActor()
		case actor.SystemMessage, actor.AutoReceiveMessage:
		default:
			a.markUsed()
			defer a.markUsed()
		}
		next(ctx, e)
	}
}

func (a *Activation) markUsed() {
	if a.observe {
		a.used.Store(time.Now().UnixNano())
	}
}

// usedAfter returns when a message was last handled, if that was after t.
func (a *Activation) usedAfter(t time.Time) (time.Time, bool) {
	used := time.Unix(0, a.used.Load())
	return used, a.observe && used.After(t)
}

// endActor ends the activation when the actor handles Stopped, its last message.
func (a *Activation) endActor() {
	a.kind.Dec()
	a.release()
	a.onEnd(a)
	close(a.ended)
}

// release ends the activation's context and observers.
func (a *Activation) release() {
	a.unwatch()
	a.cancel(errEnded)
}

// hasEnded reports whether the actor has stopped.
func (a *Activation) hasEnded() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}
