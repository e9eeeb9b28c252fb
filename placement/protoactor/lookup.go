// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"

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
