// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// SignatureWindow is how far the time at which a release was signed may lie
// from the store's, before or after.
const SignatureWindow = 30 * time.Second

// Release implements [idgen.LeaseProvider]: the positions are free again after
// the last millisecond that was used, and the right to continue with the
// fallback bit is given up. A release that was signed after the lease has ended,
// by the clock of its holder, is accepted and changes nothing, since the holder may
// have continued. So is a repeated release; a replay has no effect on later leases.
//
// A request with SequenceBits, Created and LastTs of 0 is a release of the
// specification's section 4.1: the signature is HMAC-SHA-256 in hexadecimal of
// "<id>:<timestamp>" under the lease's secret. It does not say when the last ID
// was made, so the positions are free when the lease ends, not before.
//
// Errors: [ErrExpiredTimestamp], [ErrNotFound], [ErrSignature], [ErrLastTs],
// [ErrInvalid], [ErrUnknownService], [ErrCorrupt], and those of the store.
func (s *Server) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	service, config, err := s.options.resolveService(req.ServiceID)
	if err != nil {
		return err
	}
	base, err := config.baseOf(req.ID, req.SequenceBits)
	if err != nil && !req.IsLiteral() {
		return fmt.Errorf("lease: release for service %q: %w", service, err)
	}
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		values, err := tx.load(ctx, blockKey(base))
		if err != nil {
			return err
		}
		if window := SignatureWindow.Milliseconds(); req.Timestamp < tx.now-window || req.Timestamp > tx.now+window {
			return fmt.Errorf("%w: it was signed at %d, and the store's time is %d; at most %v either way is accepted", ErrExpiredTimestamp, req.Timestamp, tx.now, SignatureWindow)
		}
		if req.IsLiteral() {
			return tx.releaseLiteral(ctx, req)
		}
		if values[0] == nil {
			return ErrNotFound
		}
		b, err := tx.decodeBlock(blockKey(base), values[0])
		if err != nil {
			return err
		}
		return tx.releaseBlock(ctx, b, req)
	})
	if err != nil {
		return fmt.Errorf("lease: release of machine %d of service %q: %w", req.ID, service, err)
	}
	return nil
}

// Renew moves the end of a lease of a plain service: it ends one
// [ServiceConfig.Duration] from now, and not before its present end, save for what
// uses says. Its positions, its beginning and its secret stay. A renewed
// lease cannot be continued with the fallback bit.
//
// uses is how much of a lease the holder uses, counted from its beginning or its renewal;
// 0 means all of it. The first renewal of a lease that was granted for longer than that
// shortens it. Of l, the id, SequenceBits, Created and the secret count.
//
// A renewal can be repeated if its outcome is unknown; until then the holder
// relies on the end that it knows.
//
// Errors: [ErrNotRenewable], [ErrNotFound], [ErrSignature] for a wrong secret,
// [ErrInvalid] for a malformed request or a service that is not plain, [ErrUnknownService],
// [ErrQuarantine], [idgen.ErrCustomEpochMismatch], [ErrCorrupt],
// [idgen.ErrBeforeCustomEpoch], [idgen.ErrTimeOverflow], and those of the store.
func (s *Server) Renew(ctx context.Context, serviceID string, l idgen.Lease, uses time.Duration) (idgen.Lease, error) {
	service, config, err := s.options.resolveService(serviceID)
	if err != nil {
		return idgen.Lease{}, err
	}
	base, err := config.baseOf(l.ID, l.SequenceBits)
	if err == nil && (!config.Plain || uses < 0) {
		err = fmt.Errorf("%w: leases are renewed in plain services only, and what the holder uses, %v, must not be negative", ErrInvalid, uses)
	}
	if err != nil {
		return idgen.Lease{}, fmt.Errorf("lease: renewal for service %q: %w", service, err)
	}
	var renewed idgen.Lease
	var record serviceRecord
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		b, err := tx.findRenewable(ctx, base, l)
		if err == nil {
			err = tx.renewLease(b, uses.Milliseconds())
		}
		if err != nil {
			return err
		}
		renewed, record = config.leaseOf(b), tx.record
		return nil
	})
	if err != nil {
		return idgen.Lease{}, fmt.Errorf("lease: renewal of machine %d of service %q: %w", l.ID, service, err)
	}
	s.rememberRecord(service, record)
	return renewed, nil
}

// Quarantine grants nothing of the service for a time, at least until the end
// of a quarantine under way: as after a loss if d is 0; see [Options.Quarantine].
// Call it after the store was restored from a backup, which lacks the leases that
// were granted since.
func (s *Server) Quarantine(ctx context.Context, serviceID string, d time.Duration) (until time.Time, err error) {
	if d == 0 {
		d = s.options.Quarantine
	}
	return s.setQuarantine(ctx, serviceID, func(tx *serviceTx) { tx.beginQuarantine(d) })
}

// EndQuarantine grants leases of the service again at once. Call it only when it
// is certain that no lease is in use which the store does not know: when a server
// with a clock far ahead began the quarantine, for instance, or all programs have
// been stopped.
func (s *Server) EndQuarantine(ctx context.Context, serviceID string) error {
	_, err := s.setQuarantine(ctx, serviceID, func(tx *serviceTx) { tx.record.Quarantine, tx.record.Continued = 0, 0 })
	return err
}

// setQuarantine changes the end of the quarantine.
func (s *Server) setQuarantine(ctx context.Context, serviceID string, change func(*serviceTx)) (until time.Time, err error) {
	service, config, err := s.options.resolveService(serviceID)
	if err != nil {
		return time.Time{}, err
	}
	var record serviceRecord
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		if _, err := tx.load(ctx); err != nil {
			return err
		}
		if _, err := tx.openService(); err != nil {
			return err
		}
		change(tx)
		tx.saveRecord()
		record, until = tx.record, time.UnixMilli(tx.quarantineEnd())
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("lease: quarantine of service %q: %w", service, err)
	}
	s.rememberRecord(service, record)
	return until, nil
}

// updateGone changes what is left of removed services, if change says so, and
// returns it.
func (s *Server) updateGone(ctx context.Context, change func(*goneRecord) bool) (record goneRecord, err error) {
	_, config, err := s.options.resolveService(DefaultService)
	if errors.Is(err, ErrUnknownService) {
		config = s.options.Default
	}
	err = s.updateService(ctx, DefaultService, config, func(tx *serviceTx) error {
		values, err := tx.store.Get(ctx, goneKey())
		if err != nil {
			return err
		}
		record = goneRecord{}
		if _, err := tx.decode(goneKey(), values[0], &record); err != nil {
			return err
		}
		if change(&record) {
			tx.set(goneKey(), encode(goneKey(), &record))
		}
		return nil
	})
	return record, err
}

// removeService removes a service that is not configured, if all of its leases
// have ended and can be continued no more:
//
//  1. The floor is raised to that time. Services that are created later grant
//     nothing before it, so it does not matter whether the clock is right.
//  2. The record is marked, so that nothing is granted any more.
//  3. The keys are removed, the record last. Another server can continue this.
//
// A service with another frame than this server gives to services that are not
// configured stays: some other server has a configuration for it.
func (s *Server) removeService(ctx context.Context, service string) (removed bool, err error) {
	record, now, err := s.readRecord(ctx, service, s.options.Default)
	if err != nil {
		return false, err
	}
	end := record.lastEnd()
	if record.Incarnation == "" || end >= now || record.frame() != frameOf(s.options.Default.Layout) {
		return false, nil
	}
	if raised, err := s.raiseFloor(ctx, service, record, end); !raised || err != nil {
		return false, err
	}
	for done := false; !done; {
		err := s.updateService(ctx, service, s.options.Default, func(tx *serviceTx) (err error) {
			done, err = tx.removeKeys(ctx, record.Incarnation, end)
			removed = done && tx.record.Removing
			return err
		})
		if err != nil {
			return false, err
		}
	}
	if removed {
		s.forgetRecord(service)
	}
	return removed, nil
}

// raiseFloor raises the floor to end, when the leases of a service have ended, so that
// the service can be removed. It reports whether it may be: all removed services have
// one frame.
func (s *Server) raiseFloor(ctx context.Context, service string, record serviceRecord, end int64) (raised bool, err error) {
	_, err = s.updateGone(ctx, func(r *goneRecord) bool {
		f := record.frame()
		if raised = r.Frame == nil || *r.Frame == f; !raised {
			return false
		}
		r.Floor = max(r.Floor, end)
		r.Frame = &f
		if r.incarnationOf(service) != record.Incarnation {
			r.Removed = append(r.Removed, removedService{Service: service, Incarnation: record.Incarnation})
			r.Removed = r.Removed[max(0, len(r.Removed)-maxRemoved):]
		}
		return true
	})
	return raised, err
}
