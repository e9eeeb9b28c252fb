// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"time"
)

// quarantine grants nothing from now on for d, or, if d is 0, until all leases
// have ended that may be in force. These may be continued for as long again; who
// is granted their positions afterwards begins to continue later than that. Those of
// a plain service are not continued.
func (ses *session) quarantine(d time.Duration) {
	r := &ses.record
	if d > 0 {
		r.Quarantine = max(r.Quarantine, ses.now+d.Milliseconds())
		return
	}
	longest := max(r.longest(), ses.config.Duration.Milliseconds())
	over := ses.now + DefaultSkew.Milliseconds()
	r.Quarantine = max(r.Quarantine, over+longest)
	if !ses.config.Plain {
		r.Continued = max(r.Continued, over+2*longest)
	}
}

// quarantineEnd returns when leases of the configured length can be granted.
func (ses *session) quarantineEnd() int64 {
	return max(ses.record.Quarantine, ses.record.Continued-ses.config.Duration.Milliseconds())
}

// Quarantine grants nothing of the service for a time, at least until the end
// of a quarantine under way: as after a loss if d is 0; see [Options.Quarantine].
// Call it after the
// store was restored from a backup, whose leases are those of another day.
func (s *Server) Quarantine(ctx context.Context, serviceID string, d time.Duration) (until time.Time, err error) {
	if d == 0 {
		d = s.options.Quarantine
	}
	return s.setQuarantine(ctx, serviceID, func(ses *session) { ses.quarantine(d) })
}

// EndQuarantine grants leases of the service again at once. Call it only when it
// is certain that no lease is in use which the store does not know: when a
// server whose clock was far ahead began the quarantine, for instance, or all
// programs have been stopped.
func (s *Server) EndQuarantine(ctx context.Context, serviceID string) error {
	_, err := s.setQuarantine(ctx, serviceID, func(ses *session) { ses.record.Quarantine, ses.record.Continued = 0, 0 })
	return err
}

// setQuarantine changes the end of the quarantine.
func (s *Server) setQuarantine(ctx context.Context, serviceID string, change func(*session)) (until time.Time, err error) {
	service, config, err := s.options.service(serviceID)
	if err != nil {
		return time.Time{}, err
	}
	var record serviceRecord
	err = s.update(ctx, service, config, func(ses *session) error {
		if _, err := ses.load(ctx); err != nil {
			return err
		}
		if _, err := ses.open(); err != nil {
			return err
		}
		change(ses)
		ses.save()
		record, until = ses.record, time.UnixMilli(ses.quarantineEnd())
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("lease: quarantine of service %q: %w", service, err)
	}
	s.saw(service, record)
	return until, nil
}
