// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// forwardRequest sends a request to the process that has the activation, and corrects the
// location of the key by the reply.
func (p *process) forwardRequest(ctx context.Context, s *session, res placement.Resolution, r *Request) outcome {
	assumed := placement.Holder{Owner: res.Owner, Address: res.Address, Epoch: res.Epoch}
	if r.Forwards > MaxForwards {
		return refusedOutcome(ErrNotHere)
	}
	next := *r
	next.To, next.Cluster = assumed, s.clusterID()
	reply, err := p.options.Transport.Call(ctx, res.Address, next)
	switch {
	case errors.Is(err, ErrUnreachable):
		s.driver.Forget(r.Key, assumed)
		return refusedOutcome(err)
	case err != nil:
		s.driver.Forget(r.Key, assumed)
		return outcome{status: Unknown, err: err}
	}
	s.learnFromReply(r.Key, assumed, reply)
	return p.outcomeOf(reply)
}

// outcomeOf returns the outcome in a reply.
func (p *process) outcomeOf(reply Reply) outcome {
	o := outcome{status: reply.Status, payload: reply.Payload, holder: reply.Holder}
	switch {
	case reply.Status == Done && len(reply.Payload) > p.options.MaxPayload:
		o.status, o.err = Failed, &PayloadError{What: resultOf, Err: &SizeError{Bytes: len(reply.Payload), Most: p.options.MaxPayload}}
	case reply.Status == Done:
	case reply.Status >= Failed && reply.Status <= Unknown:
		o.err = reply.Err.Error()
	default:
		o.status, o.err = Unknown, fmt.Errorf("host: the reply has status %d, which this program does not know", reply.Status)
	}
	return o
}
