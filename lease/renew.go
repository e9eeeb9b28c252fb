// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// ErrNotRenewable says that a lease cannot be renewed: it has ended or was
// released, or counts in a budget, or its positions are granted to others from
// some time on. Acquire another one.
var ErrNotRenewable = errors.New("lease: not renewable")

// RenewRequest asks for a later end of a lease. ID, BitSeq, Created and Secret
// are those of the lease.
type RenewRequest struct {
	ServiceID string
	ID        int64
	BitSeq    int
	Created   int64
	Secret    string
	// Uses is how much of a lease the holder uses, counted from its begin, or from
	// when it was renewed; 0 means all of it. The first renewal of a lease that was
	// granted for longer than that cuts it short.
	Uses time.Duration
}

// Renew moves the end of a lease: it ends one [ServiceConfig.Duration] from now,
// and not before its present end, save for what [RenewRequest.Uses] says. Its
// positions, its begin and its secret stay. A renewed lease is not continued with
// the fallback bit, so renew only in services where nobody continues any, which
// are those that are Plain.
//
// A renewal whose outcome is unknown can be repeated; until then the holder goes
// by the end that it knows.
//
// Errors: [ErrNotRenewable], [ErrNotFound], [ErrSignature] for a wrong secret,
// [ErrInvalid], also for a service that is not plain, [ErrUnknownService],
// [*QuarantineError], [*CustomEpochError], [*CorruptError], [*idgen.TimeRangeError],
// and those of the store.
func (s *Server) Renew(ctx context.Context, req RenewRequest) (idgen.Lease, error) {
	service, config, err := s.options.service(req.ServiceID)
	if err != nil {
		return idgen.Lease{}, err
	}
	base, err := config.base(req.ID, req.BitSeq)
	if err == nil && (!config.Plain || req.Uses < 0) {
		err = fmt.Errorf("%w: leases are renewed in plain services only, and what the holder uses, %v, must not be negative", ErrInvalid, req.Uses)
	}
	if err != nil {
		return idgen.Lease{}, fmt.Errorf("lease: renewal for service %q: %w", service, err)
	}
	var renewed idgen.Lease
	var record serviceRecord
	err = s.update(ctx, service, config, func(ses *session) error {
		b, err := ses.renewable(ctx, base, req)
		if err == nil {
			err = ses.renew(b, req.Uses.Milliseconds())
		}
		if err != nil {
			return err
		}
		renewed, record = config.lease(b), ses.record
		return nil
	})
	if err != nil {
		return idgen.Lease{}, fmt.Errorf("lease: renewal of machine %d of service %q: %w", req.ID, service, err)
	}
	s.saw(service, record)
	return renewed, nil
}

// renewable returns the block at base if the lease that req names can be renewed.
func (ses *session) renewable(ctx context.Context, base uint64, req RenewRequest) (*block, error) {
	values, err := ses.load(ctx, blockKey(base))
	if err != nil {
		return nil, err
	}
	if !ses.founded() || values[0] == nil {
		return nil, ErrNotFound
	}
	quarantine, err := ses.open()
	if err != nil {
		return nil, err
	}
	if quarantine > ses.now {
		return nil, &QuarantineError{ServiceID: ses.service, Until: time.UnixMilli(quarantine)}
	}
	if err := ses.checkClock(); err != nil {
		return nil, err
	}
	b, err := ses.block(blockKey(base), values[0])
	if err != nil {
		return nil, err
	}
	return b, b.checkRenewal(req, ses.now)
}

// checkRenewal reports whether req names the lease of the block, and it is in
// force.
func (b *block) checkRenewal(req RenewRequest, now int64) error {
	h := b.Holder
	switch {
	case h == nil || b.BitSeq != req.BitSeq || h.Created != req.Created:
		return ErrNotFound
	case subtle.ConstantTimeCompare([]byte(h.Secret), []byte(req.Secret)) == 0:
		return ErrSignature
	case h.Released != nil:
		return fmt.Errorf("%w: it was released", ErrNotRenewable)
	case now >= h.Expired:
		return fmt.Errorf("%w: it ended %d ms ago", ErrNotRenewable, now-h.Expired)
	case h.Charge != nil:
		return fmt.Errorf("%w: it counts in a budget", ErrNotRenewable)
	}
	return nil
}

// renew moves the end of the block's lease, of which the holder uses so many
// milliseconds.
func (ses *session) renew(b *block, uses int64) error {
	duration, h := ses.config.Duration.Milliseconds(), b.Holder
	until := max(ses.now, h.Created) + duration
	switch {
	case h.Renewed || uses == 0:
		until = max(until, h.Expired)
	default:
		until = max(until, min(h.Created+uses, h.Expired))
	}
	until = min(until, ses.config.Layout.Last().UnixMilli()+1)
	if b.Future != nil && until > b.Future.From {
		return fmt.Errorf("%w: others hold its positions from %d on", ErrNotRenewable, b.Future.From)
	}
	ses.drop(b)
	b.renew(until)
	ses.put(b)
	if ses.record.granted(ses.server.id, ses.now, duration) {
		ses.save()
	}
	return nil
}

// renew moves the end of the lease. The bounds before it stay.
func (b *block) renew(until int64) {
	b.Holder.Expired, b.Holder.Renewed = until, true
	b.Fence, b.Carry = until, until
}
