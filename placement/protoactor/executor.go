// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"

	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/driver"
)

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
}

var _ driver.Executor = (*executor)(nil)

// EnsureActivation implements [driver.Executor].
func (x *executor) EnsureActivation(ctx context.Context, c placement.EnsureActivation) (placement.ActivationRecord, error) {
	kind, ok := x.cluster.TryGetClusterKind(c.Key.Kind)
	if !ok {
		return placement.ActivationRecord{}, fmt.Errorf("protoactor: the kind %q is not registered on this member", c.Key.Kind)
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
			return placement.ActivationRecord{PID: present.pid.Id}, nil
		case present.epoch > c.Epoch:
			return placement.ActivationRecord{}, fmt.Errorf("%w: epoch %d of %s is active here", placement.ErrStale, present.epoch, c.Key)
		}
		x.stopActor(present)
		if err := x.awaitEnd(ctx, present); err != nil {
			return placement.ActivationRecord{}, err
		}
	}
}

func (x *executor) newActivation(c placement.EnsureActivation, kind *cluster.ActivatedKind) *Activation {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &Activation{
		key: c.Key, epoch: c.Epoch, kind: kind,
		pid:   pidOf(x.cluster.ActorSystem.Address(), c.Key, c.Epoch),
		fence: x.fence(c.Key, c.Owner, c.Epoch),
		ctx:   ctx, cancel: cancel,
		ended: make(chan struct{}), onEnd: x.onEnd, observe: x.observe,
	}
	a.unwatch = context.AfterFunc(x.member, func() {
		cancel(fmt.Errorf("%w: %w", placement.ErrActivationLost, context.Cause(x.member)))
	})
	return a
}

// spawnActor starts the actor of an activation.
func (x *executor) spawnActor(a *Activation) (placement.ActivationRecord, error) {
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
		return placement.ActivationRecord{}, err
	}
	return placement.ActivationRecord{PID: a.pid.Id}, nil
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
func (x *executor) Deactivate(ctx context.Context, c placement.Deactivate) error {
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

// stopActor stops an actor whose identity another member may have. It drops the messages in its
// mailbox.
func (x *executor) stopActor(a *Activation) {
	a.cancel(placement.ErrActivationLost)
	x.cluster.ActorSystem.Root.Stop(a.pid)
}
