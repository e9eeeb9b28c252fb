// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// deliver gives a request to the activation of this process and waits for the
// outcome.
func (s *session) deliver(ctx context.Context, res placement.Resolution, r *Request) outcome {
	as, ok := s.kinds[r.Key.Kind]
	if !ok {
		return refused(fmt.Errorf("host: kind %q is not registered here", clip(r.Key.Kind)))
	}
	a := as.find(r.Key.ID, res.Epoch)
	if a == nil { // it has just ended, or has by itself: then the driver is to know
		s.driver.Passivate(r.Key, res.Epoch)
		return refused(errDraining)
	}
	o := a.call(ctx, r)
	o.holder = placement.Holder{Owner: s.owner, Address: s.options.Transport.Address(), Epoch: a.epoch}
	return o
}

// call runs a request in the activation and waits for the outcome.
func (a *Activation) call(ctx context.Context, r *Request) outcome {
	m, ok := a.kind.kind.methods[r.Method]
	if !ok {
		return refused(&MethodError{Kind: r.Key.Kind, Method: r.Method})
	}
	c := newCall(ctx, m, r)
	if err := a.post(&c.message); err != nil {
		return refused(err)
	}
	return c.await()
}

// forward sends a request to the process that has the activation, and corrects what is
// known of where that is by the reply.
func (p *process) forward(ctx context.Context, s *session, res placement.Resolution, r *Request) outcome {
	assumed := placement.Holder{Owner: res.Owner, Address: res.Address, Epoch: res.Epoch}
	if r.Forwards > MaxForwards {
		return refused(ErrNotHere)
	}
	next := *r
	next.To = assumed
	reply, err := p.options.Transport.Call(ctx, res.Address, next)
	switch {
	case errors.Is(err, ErrUnreachable):
		s.driver.Forget(r.Key, assumed)
		return refused(err)
	case err != nil:
		s.driver.Forget(r.Key, assumed)
		return outcome{status: Unknown, err: err}
	}
	s.learn(r.Key, assumed, reply)
	return p.outcomeOf(reply)
}

// disown tells the driver of a request that was sent here because this process is said to have
// the key, and is to go on: what a home has of it for this process is given back.
func (s *session) disown(r *Request) {
	if r.To.Epoch > 0 && r.To.Owner == s.owner {
		s.driver.Forget(r.Key, r.To)
	}
}

// learn corrects the location of a key by a reply. Only who has the activation
// tells of itself: what others have heard could make two processes point at each other for ever.
func (s *session) learn(key placement.Key, assumed placement.Holder, reply Reply) {
	switch {
	case reply.Holder == assumed:
	case reply.Holder.Epoch > 0:
		s.driver.Learn(key, reply.Holder)
	case reply.Status == Refused:
		s.driver.Forget(key, assumed)
	}
}

// outcomeOf returns what a reply tells.
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

// Refuse returns the reply of a [Transport] to a request that it does not give to
// its handler.
func Refuse(err error) Reply { return Reply{Status: Refused, Err: wireErrorOf(err)} }

// serve answers a request of another process: it is the transport's [Handler].
func (p *process) serve(ctx context.Context, r Request) Reply {
	if err := p.check(&r); err != nil {
		return Refuse(err)
	}
	r.Forwards++ // if it goes on from here
	o := p.dispatch(ctx, &r)
	reply := Reply{Status: o.status, Payload: o.payload, Holder: o.holder}
	if o.status != Done {
		reply.Err, reply.Payload = wireErrorOf(o.err), nil
	}
	return reply
}

// check refuses requests that no process of the same program sends.
func (p *process) check(r *Request) error {
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
