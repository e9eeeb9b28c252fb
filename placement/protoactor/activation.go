// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
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
	unsure  atomic.Bool         // the actor does not know whether its transaction has committed
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
//
// After one with an unknown outcome the activation ends.
func (a *Activation) Fence() leasefdb.Fence { return a.fence }

// Context returns a context that ends with the activation. Its cause is
// [placement.ErrActivationLost] if another member may have the identity: from then on only the fence
// keeps two actors of the identity from writing.
func (a *Activation) Context() context.Context { return a.ctx }

// observeMessages observes the messages of the actor.
func (a *Activation) observeMessages(next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(ctx actor.ReceiverContext, e *actor.MessageEnvelope) {
		switch m := e.Message.(type) {
		case lastMessage:
			m.process.SendSystemMessage(a.pid, &actor.Stop{})
			return
		case *actor.Stopped:
			defer a.endActor()
		case actor.SystemMessage, actor.AutoReceiveMessage:
		default:
			if a.unsure.Load() {
				ctx.ActorSystem().DeadLetter.SendUserMessage(a.pid, e) // a request goes to the next activation
				return
			}
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

// activations has the activations with actors that run here, at most one of each key.
type activations struct {
	mu    sync.RWMutex
	byKey map[placement.Key]*Activation
}

// get returns the activation of an epoch, nil if it does not run here.
func (s *activations) get(key placement.Key, epoch int64) *Activation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a := s.byKey[key]; a != nil && a.epoch == epoch {
		return a
	}
	return nil
}

// add adds an activation unless there is one of its key, and returns the present one.
func (s *activations) add(a *Activation) (present *Activation, added bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.byKey[a.key]; b != nil {
		return b, false
	}
	s.byKey[a.key] = a
	return a, true
}

// remove removes an activation.
func (s *activations) remove(a *Activation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[a.key] == a {
		delete(s.byKey, a.key)
	}
}

// errEnded is the cause of the contexts of activations that ended while they held their claim.
var errEnded = errors.New("protoactor: the activation has ended")

// executor spawns and stops actors on the actor system of a member.
type executor struct {
	cluster *cluster.Cluster
	running *activations
	member  context.Context // ends when the member is lost, with a cause
	fence   func(placement.Key, placement.Owner, int64) leasefdb.Fence
	observe bool
	onEnd   func(*Activation)

	passivate func(*Activation)
}

var _ driver.Executor = (*executor)(nil)

// EnsureActivation implements [driver.Executor].
func (x *executor) EnsureActivation(ctx context.Context, c core.EnsureActivation) (core.ActivationRecord, error) {
	kind, ok := x.cluster.TryGetClusterKind(c.Key.Kind)
	if !ok {
		return core.ActivationRecord{}, fmt.Errorf("protoactor: the kind %q is not registered on this member", c.Key.Kind)
	}
	for {
		a := x.newActivation(c, kind)
		present, added := x.running.add(a)
		if added {
			return x.spawnActor(a)
		}
		a.release()
		switch {
		case present.epoch == c.Epoch:
			return core.ActivationRecord{PID: present.pid.Id}, nil
		case present.epoch > c.Epoch:
			return core.ActivationRecord{}, fmt.Errorf("%w: epoch %d of %s is active here", placement.ErrStale, present.epoch, c.Key)
		}
		x.stopActor(present)
		if err := x.awaitEnd(ctx, present); err != nil {
			return core.ActivationRecord{}, err
		}
	}
}

func (x *executor) newActivation(c core.EnsureActivation, kind *cluster.ActivatedKind) *Activation {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &Activation{
		key: c.Key, epoch: c.Epoch, kind: kind,
		pid: pidOf(x.cluster.ActorSystem.Address(), c.Key, c.Epoch),
		ctx: ctx, cancel: cancel,
		ended: make(chan struct{}), onEnd: x.onEnd, observe: x.observe,
	}
	a.fence = x.fence(c.Key, c.Owner, c.Epoch).WhenUnknown(func(error) { x.endUnsure(a) })
	a.unwatch = context.AfterFunc(x.member, func() {
		cancel(fmt.Errorf("%w: %w", placement.ErrActivationLost, context.Cause(x.member)))
	})
	return a
}

// spawnActor starts the actor of an activation.
func (x *executor) spawnActor(a *Activation) (core.ActivationRecord, error) {
	props := a.kind.Props.Clone(
		actor.WithOnInit(func(ctx actor.Context) {
			cluster.SetClusterIdentity(ctx, cluster.NewClusterIdentity(a.key.ID, a.key.Kind))
		}),
		actor.WithReceiverMiddleware(a.observeMessages),
	)
	a.kind.Inc()
	if _, err := x.cluster.ActorSystem.Root.SpawnNamed(props, a.pid.Id); err != nil {
		a.kind.Dec()
		a.release()
		x.running.remove(a)
		return core.ActivationRecord{}, err
	}
	return core.ActivationRecord{PID: a.pid.Id}, nil
}

// awaitEnd waits until the actor of an earlier activation has stopped, so that
// two of one identity never run in one process.
func (x *executor) awaitEnd(ctx context.Context, a *Activation) error {
	select {
	case <-a.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("protoactor: the actor of epoch %d of %s has not stopped: %w", a.epoch, a.key, context.Cause(ctx))
	}
}

// Deactivate implements [driver.Executor]. The actor first handles the messages in its
// mailbox, unless another member may have its identity already.
func (x *executor) Deactivate(ctx context.Context, c core.Deactivate) error {
	a := x.running.get(c.Key, c.Epoch)
	if a == nil {
		return nil
	}
	root := x.cluster.ActorSystem.Root
	switch c.Cause {
	case placement.CauseIdle:
		if at, used := a.usedAfter(c.IdleSince); used {
			return &driver.BusyError{UsedAt: at}
		}
		root.Poison(a.pid)
	case placement.CauseLost, placement.CauseFailed:
		x.stopActor(a)
	default:
		root.Poison(a.pid)
	}
	err := x.awaitEnd(ctx, a)
	if err != nil {
		x.stopActor(a)
	}
	return err
}

// endUnsure ends an activation that does not know whether its transaction has committed. Its actor handles
// no more messages, since the commit may land after what it reads. The claim of the next activation
// writes the key that the fence of the commit has read: the commit has landed before that, or never does.
func (x *executor) endUnsure(a *Activation) {
	if !a.unsure.CompareAndSwap(false, true) {
		return
	}
	registry := x.cluster.ActorSystem.ProcessRegistry
	if process, ok := registry.Get(a.pid); ok {
		registry.Remove(a.pid) // further messages are dead letters: protoactor-go drops what comes while it stops an actor
		process.SendUserMessage(a.pid, lastMessage{process})
	}
	x.passivate(a) // from now on lookups wait for the next one
}

// lastMessage is the last one in the mailbox of an actor that is stopped then.
type lastMessage struct{ process actor.Process }

// stopActor stops an actor after another member may have got its identity. It drops the messages in its
// mailbox.
func (x *executor) stopActor(a *Activation) {
	a.cancel(placement.ErrActivationLost)
	x.cluster.ActorSystem.Root.Stop(a.pid)
}
