// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrTooManyServices says that a service would be one more than
// [Options.MaxServices] permits, and that all services which nobody configured
// have leases in force.
var ErrTooManyServices = errors.New("lease: too many services")

// errUnfounded says that a transaction needs a service that is not in the store,
// or is about to be removed.
var errUnfounded = errors.New("lease: the service is not in the store")

// founded reports whether the store has all that granting leases needs. The
// default service is made with its first lease.
func (ses *session) founded() bool {
	return ses.service == DefaultService || ses.known && !ses.record.Unsettled && !ses.record.Removing
}

// found makes a service in the store, if it is none yet. Leases of a service of
// that name may have been removed; see remove. All of them ended before the floor
// that the store keeps, so the new service grants nothing before it. The floor
// is read when the record of the service is there: whoever removed the leases
// before raised it before that.
func (s *Server) found(ctx context.Context, service string, config ServiceConfig) error {
	select {
	case s.founding <- struct{}{}:
		defer func() { <-s.founding }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	record, now, err := s.record(ctx, service, config)
	if err == nil && record.Removing {
		_, err = s.remove(ctx, service)
		record = serviceRecord{}
	}
	if err == nil && record.Incarnation == "" {
		err = s.admit(ctx, service, now)
	}
	if err != nil {
		return err
	}
	err = s.update(ctx, service, config, func(ses *session) error {
		if _, err := ses.load(ctx); err != nil {
			return err
		}
		_, err := ses.open()
		record = ses.record
		return err
	})
	if err != nil {
		return err
	}
	gone, err := s.gone(ctx, func(*goneRecord) bool { return false })
	if err != nil {
		return err
	}
	return s.update(ctx, service, config, func(ses *session) error {
		if _, err := ses.load(ctx); err != nil {
			return err
		}
		if ses.known && ses.record.Unsettled && ses.record.Incarnation == record.Incarnation {
			return ses.settle(gone)
		}
		return nil
	})
}

// record returns the record of a service, the zero record if there is none, and
// the time.
func (s *Server) record(ctx context.Context, service string, config ServiceConfig) (record serviceRecord, now int64, err error) {
	err = s.update(ctx, service, config, func(ses *session) error {
		_, err := ses.load(ctx)
		record, now = ses.record, ses.now
		return err
	})
	return record, now, err
}

// settle makes a new service ready to grant leases.
func (ses *session) settle(gone goneRecord) error {
	if _, listed := ses.server.options.Services[ses.service]; !listed && gone.Frame != nil && *gone.Frame != ses.record.frame() {
		stored := ses.config.Layout
		stored.CustomEpochMs, stored.BitReserve, stored.BitTs = gone.Frame.Epoch, gone.Frame.BitReserve, gone.Frame.BitTs
		return &CustomEpochError{ServiceID: ses.service, Stored: stored, Configured: ses.config.Layout}
	}
	ses.record.Unsettled, ses.record.Floor, ses.record.After = false, gone.Floor, gone.incarnation(ses.service)
	if seen := ses.server.lastSeen(ses.service).Incarnation; seen != "" && seen == ses.record.After && ses.server.options.Fresh {
		ses.record.Quarantine, ses.record.Continued = 0, 0 // its leases were removed, not lost
	}
	ses.save()
	return nil
}

// full is when no service gave way to another one, and how many there were. To
// find that out takes a look at all of them: requests for services that somebody
// makes up must not cost the store that each.
type full struct {
	at       int64 // Unix milliseconds
	services int
}

// fullFor is how long, in milliseconds, no service is looked at again.
const fullFor = 1000

// error refuses a service.
func (f full) error(service string) error {
	return fmt.Errorf("%w: the store has %d services that are not configured, all with leases in force; list %q in the server's configuration, or raise MaxServices",
		ErrTooManyServices, f.services, service)
}

// admit makes room for a service that nobody configured. Servers that admit at
// the same time may pass the bound, by one each.
func (s *Server) admit(ctx context.Context, service string, now int64) error {
	if _, listed := s.options.Services[service]; listed {
		return nil
	}
	if s.full.services > 0 && now >= s.full.at && now < s.full.at+fullFor {
		return s.full.error(service)
	}
	made, err := s.madeUp(ctx)
	if err != nil || len(made) < s.options.MaxServices {
		return err
	}
	for _, id := range made {
		if removed, err := s.remove(ctx, id); removed || err != nil && ctx.Err() != nil {
			return err
		}
	}
	s.full = full{at: now, services: len(made)}
	return s.full.error(service)
}

// madeUp returns the services in the store that nobody configured. Of a store
// that cannot tell, they are those that this server has seen.
func (s *Server) madeUp(ctx context.Context) (ids []string, err error) {
	for after := ""; ; after = ids[len(ids)-1] {
		page, err := s.Services(ctx, after, maxPage)
		if errors.Is(err, errors.ErrUnsupported) {
			ids = s.allSeen()
			break
		}
		if err != nil {
			return nil, err
		}
		if ids = append(ids, page...); len(page) < maxPage {
			break
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		_, listed := s.options.Services[id]
		return listed || id == DefaultService
	}), nil
}

// allSeen returns the services that this server has granted leases of.
func (s *Server) allSeen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.seen))
}
