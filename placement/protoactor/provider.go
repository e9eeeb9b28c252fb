// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/cluster"
)

type provider struct{ node *Node }

// StartMember implements [cluster.ClusterProvider].
func (p provider) StartMember(c *cluster.Cluster) error { return p.awaitStart(c) }

// StartClient implements [cluster.ClusterProvider].
func (p provider) StartClient(c *cluster.Cluster) error { return p.awaitStart(c) }

func (p provider) awaitStart(c *cluster.Cluster) error {
	n := p.node
	n.mu.Lock()
	ours := n.cluster == c
	n.mu.Unlock()
	if !ours {
		return errors.New("protoactor: the provider needs the lookup of the same node: give node.Lookup() to cluster.Configure, too")
	}
	ctx, cancel := context.WithTimeout(n.ctx, n.o.StartTimeout)
	defer cancel()
	if _, err := n.awaitReady(ctx); err != nil {
		return fmt.Errorf("protoactor: starting as %s: %w", n.memberName(), err)
	}
	for _, err := range n.roster.attachList(c.MemberList) {
		n.log().Warn("kazahana: a member is left out", slog.Any("error", err))
	}
	return nil
}

// Shutdown implements [cluster.ClusterProvider]. The cluster calls it before it shuts
// the lookup down: from then on other members do not choose this one, and it leaves when
// its actors have stopped.
func (p provider) Shutdown(graceful bool) error {
	joined := p.node.currentPart()
	if joined == nil || !graceful {
		return nil
	}
	ctx, cancel := context.WithTimeout(p.node.ctx, p.node.o.StopTimeout)
	defer cancel()
	return joined.drain(ctx)
}
