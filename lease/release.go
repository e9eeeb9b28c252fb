// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// SignatureWindow is how far the time at which a release was signed may lie
// from the store's, before or after.
const SignatureWindow = 30 * time.Second

// Release implements [idgen.LeaseProvider]: the positions are free again behind
// the last millisecond that was used, and the right to continue with the
// fallback bit is given up. A release that was signed after the lease has ended,
// by the clock of its holder, is accepted and changes nothing, since he may have
// continued. So is one repeated; a replay has no effect on later leases.
//
// A request whose BitSeq, Created and LastTs are 0 is that of the
// specification's section 4.1: the signature is HMAC-SHA-256 in hexadecimal of
// "<id>:<timestamp>" under the lease's secret. It does not say when the last ID
// was made, so the positions are free when the lease ends, not before.
//
// Errors: [ErrExpiredTimestamp], [ErrNotFound], [ErrSignature], [ErrLastTs],
// [ErrInvalid], [ErrUnknownService], [*CorruptError], and those of the store.
func (s *Server) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	service, config, err := s.options.service(req.ServiceID)
	if err != nil {
		return err
	}
	base, err := config.base(req.ID, req.BitSeq)
	if err != nil && !literal(req) {
		return fmt.Errorf("lease: release for service %q: %w", service, err)
	}
	err = s.update(ctx, service, config, func(ses *session) error {
		values, err := ses.load(ctx, blockKey(base))
		if err != nil {
			return err
		}
		if window := SignatureWindow.Milliseconds(); req.Timestamp < ses.now-window || req.Timestamp > ses.now+window {
			return fmt.Errorf("%w: it was signed at %d, and the store's time is %d; at most %v either way is accepted", ErrExpiredTimestamp, req.Timestamp, ses.now, SignatureWindow)
		}
		if literal(req) {
			return ses.releaseLiteral(ctx, req)
		}
		if values[0] == nil {
			return ErrNotFound
		}
		b, err := ses.block(blockKey(base), values[0])
		if err != nil {
			return err
		}
		return ses.release(ctx, b, req)
	})
	if err != nil {
		return fmt.Errorf("lease: release of machine %d of service %q: %w", req.ID, service, err)
	}
	return nil
}

// base returns the first position of machine id with bitSeq bits of sequence.
func (c ServiceConfig) base(id int64, bitSeq int) (uint64, error) {
	if bitSeq < 1 || bitSeq >= c.spaceBits() {
		return 0, fmt.Errorf("%w: bitSeq is %d; it must be from 1 to %d", ErrInvalid, bitSeq, c.spaceBits()-1)
	}
	if id < 0 || id >= 1<<(c.spaceBits()-bitSeq) {
		return 0, fmt.Errorf("%w: machine id %d; it must be from 0 to %d", ErrInvalid, id, int64(1)<<(c.spaceBits()-bitSeq)-1)
	}
	return uint64(id) << bitSeq, nil
}

// release changes the block that req names, if that is due.
func (ses *session) release(ctx context.Context, b *block, req idgen.ReleaseRequest) error {
	if b.BitSeq != req.BitSeq || b.Holder == nil {
		return ErrNotFound
	}
	h := b.Holder
	if h.Created != req.Created {
		return h.Before.again(req)
	}
	if !req.Verify(h.Secret) {
		return ErrSignature
	}
	if req.LastTs < h.Created-1 || req.LastTs >= h.Expired {
		return fmt.Errorf("%w: %d; the lease permits %d to %d", ErrLastTs, req.LastTs, h.Created-1, h.Expired-1)
	}
	if h.Released != nil {
		return sameLastTs(*h.Released, req)
	}
	if req.Timestamp >= h.Expired {
		return nil
	}
	if err := ses.refund(ctx, b); err != nil {
		return err
	}
	ses.drop(b)
	b.release(req.LastTs)
	ses.put(b)
	return nil
}

// again answers a release of the lease before the one that holds the block now.
func (r *released) again(req idgen.ReleaseRequest) error {
	if r == nil || r.Created != req.Created {
		return ErrNotFound
	}
	if !req.Verify(r.Secret) {
		return ErrSignature
	}
	return sameLastTs(r.LastTs, req)
}

func sameLastTs(first int64, req idgen.ReleaseRequest) error {
	if req.LastTs != first {
		return fmt.Errorf("%w: %d; the lease was released with %d before", ErrLastTs, req.LastTs, first)
	}
	return nil
}
