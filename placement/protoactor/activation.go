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
	unwatch func() bool // ends what waits for the loss of the member

	ended   chan struct{}       // closed once the actor has handled Stopped
	onEnd   func(a *Activation) // told then
	observe bool                // whether used is kept
	used    atomic.Int64        // when a message was last handled, in Unix nanoseconds
}

// ActivationOf returns the activation of the actor that ctx is of. It is nil for
// actors that a [Node] did not activate, such as an actor's children.
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

// Epoch returns the number of the claim. It is greater than that of every
// activation that the identity has had before, on any member. A system outside that
// refuses a number smaller than one it has seen refuses what a former activation
// sends late.
func (a *Activation) Epoch() int64 { return a.epoch }

// Fence returns the condition that the claim is still in force. A transaction that
// checks it commits only then:
//
//	a.Fence().Under(db).Transact(ctx, …)
func (a *Activation) Fence() leasefdb.Fence { return a.fence }

// Context returns a context that ends with the activation. Its cause is
// [placement.ErrActivationLost] if another member may have the identity: what the actor does then is
// no longer the only one of its identity, unless it is done under the fence.
func (a *Activation) Context() context.Context { return a.ctx }

// observeMessages observes what the actor handles.
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

// endActor is called once: the actor's last message is Stopped.
func (a *Activation) endActor() {
	a.kind.Dec()
	a.release()
	a.onEnd(a)
	close(a.ended)
}

// release ends what belongs to the activation.
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
