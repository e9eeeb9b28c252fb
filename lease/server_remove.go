// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
)

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

// raiseFloor raises the floor for the removal of a service whose leases have
// ended at end, and reports whether it may be removed: all removed services have
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
