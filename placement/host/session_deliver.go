// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/placement"
)

// deliverLocal gives a request to the activation of this process and waits for the
// outcome.
func (s *session) deliverLocal(ctx context.Context, res placement.Resolution, r *Request) outcome {
	as, ok := s.kinds[r.Key.Kind]
	if !ok {
		return refusedOutcome(fmt.Errorf("host: kind %q is not registered here", clip(r.Key.Kind)))
	}
	a := as.find(r.Key.ID, res.Epoch)
	if a == nil { // it has just ended, or has by itself: then the driver is to know
		s.driver.Passivate(r.Key, res.Epoch)
		return refusedOutcome(errDraining)
	}
	o := a.callMethod(ctx, r)
	o.holder = placement.Holder{Owner: s.owner, Address: s.options.Transport.Address(), Epoch: a.epoch}
	return o
}

// giveBackUnknown handles a request that was sent here because this process is believed to
// have the key, but must go on: the driver gives back what a home has for this process.
func (s *session) giveBackUnknown(r *Request) {
	if r.To.Epoch > 0 && r.To.Owner == s.owner {
		s.driver.Forget(r.Key, r.To)
	}
}

// learnFromReply corrects the location of a key by a reply. It believes a holder only about
// itself: hearsay could make two processes point at each other for ever.
func (s *session) learnFromReply(key placement.Key, assumed placement.Holder, reply Reply) {
	switch {
	case reply.Holder == assumed:
	case reply.Holder.Epoch > 0:
		s.driver.Learn(key, reply.Holder)
	case reply.Status == Refused && !errors.Is(reply.Err.Error(), ErrOverloaded): // which says nothing about the key
		s.driver.Forget(key, assumed)
	}
}
