// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
)

// serveRequest answers a request of another process: it is the transport's [Handler].
func (p *process) serveRequest(ctx context.Context, r Request) Reply {
	if err := p.checkRequest(&r); err != nil {
		return Refuse(err)
	}
	if err := p.checkTarget(&r); err != nil {
		return Refuse(err)
	}
	r.Forwards++ // if it goes on from here
	o := p.dispatchRequest(ctx, &r)
	reply := Reply{Status: o.status, Payload: o.payload, Holder: o.holder}
	if o.status != Done {
		reply.Err, reply.Payload = wireErrorOf(o.err), nil
	}
	return reply
}

// checkRequest returns why a request is invalid: no process of the same program sends it.
func (p *process) checkRequest(r *Request) error {
	if own := p.options.Codec.Name(); r.Codec != own {
		return &CodecError{Got: r.Codec, Want: own}
	}
	if most := p.options.MaxPayload; len(r.Payload) > most {
		return &PayloadError{Key: r.Key, Method: r.Method, What: argument, Err: &SizeError{Bytes: len(r.Payload), Most: most}}
	}
	if r.Forwards < 0 || r.Forwards > MaxForwards {
		return fmt.Errorf("host: the request says that it was forwarded %d times; at most %d are possible", r.Forwards, MaxForwards)
	}
	if err := r.Key.Validate(); err != nil {
		return err
	}
	return errors.Join(checkMethod(r.Method), checkChain(r.Key, r.Chain))
}

// checkTarget returns an error unless a request is for this process: in the state that a sender knows, its
// address may be that of a process which has ended, or of one in the cluster that this one was copied from.
func (p *process) checkTarget(r *Request) error {
	s, err := p.currentSession()
	switch {
	case err != nil:
		return err
	case r.To.Owner != s.owner:
		return fmt.Errorf("%w: the request is for %s, this process is %s", ErrNotHere, clip(r.To.Owner.String()), s.owner)
	case r.Cluster != "" && r.Cluster != s.clusterID():
		return fmt.Errorf("%w: the request is from the cluster %s, this process is of the cluster %s", ErrNotHere, clip(r.Cluster), s.clusterID())
	}
	return nil
}

// Refuse returns the reply of a [Transport] to a request that it does not give to
// its handler.
func Refuse(err error) Reply { return Reply{Status: Refused, Err: wireErrorOf(err)} }
