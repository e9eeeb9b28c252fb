// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"time"
)

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
// is certain that no lease is in use which the store does not know: when a
// server whose clock was far ahead began the quarantine, for instance, or all
// programs have been stopped.
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
