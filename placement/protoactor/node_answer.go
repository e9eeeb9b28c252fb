// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"context"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
)

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
