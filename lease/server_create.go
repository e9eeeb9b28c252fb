// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrTooManyServices says that a service would be one more than
// [Options.MaxServices] permits, and that all services which are not configured
// have leases in force.
var ErrTooManyServices = errors.New("lease: too many services")

// createService creates a service in the store, if it is not there yet:
//
//  1. A service that is being removed is removed first.
//  2. If the store has too many services, one is removed, or the new one refused.
//  3. The record is written, marked as unsettled: nothing is granted yet.
//  4. The floor is read. All leases that removed services of this name had have
//     ended before it. It is read after the record was written, because a removal
//     raises the floor before it removes leases.
//  5. The floor is written into the record, and the mark is removed.
func (s *Server) createService(ctx context.Context, service string, config ServiceConfig) error {
	select {
	case s.creation <- struct{}{}:
		defer func() { <-s.creation }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.prepareCreation(ctx, service, config); err != nil {
		return err
	}
	record, err := s.writeNewRecord(ctx, service, config)
	if err != nil {
		return err
	}
	gone, err := s.updateGone(ctx, func(*goneRecord) bool { return false })
	if err != nil {
		return err
	}
	return s.updateService(ctx, service, config, func(tx *serviceTx) error {
		if _, err := tx.load(ctx); err != nil {
			return err
		}
		if tx.known && tx.record.Unsettled && tx.record.Incarnation == record.Incarnation {
			return tx.finishCreation(gone)
		}
		return nil
	})
}

// prepareCreation finishes a removal of the service that was begun, and makes
// room for the service if the store does not have it.
func (s *Server) prepareCreation(ctx context.Context, service string, config ServiceConfig) error {
	record, now, err := s.readRecord(ctx, service, config)
	if err == nil && record.Removing {
		_, err = s.removeService(ctx, service)
		record = serviceRecord{}
	}
	if err == nil && record.Incarnation == "" {
		err = s.makeRoom(ctx, service, now)
	}
	return err
}

// writeNewRecord writes the record of the service, if there is none, and returns
// it.
func (s *Server) writeNewRecord(ctx context.Context, service string, config ServiceConfig) (record serviceRecord, err error) {
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		if _, err := tx.load(ctx); err != nil {
			return err
		}
		_, err := tx.openService()
		record = tx.record
		return err
	})
	return record, err
}

// readRecord returns the record of a service, the zero record if there is none,
// and the time.
func (s *Server) readRecord(ctx context.Context, service string, config ServiceConfig) (record serviceRecord, now int64, err error) {
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		_, err := tx.load(ctx)
		record, now = tx.record, tx.now
		return err
	})
	return record, now, err
}

// fullStore is the last time at which no service could be removed for another
// one, and how many services there were. To find that out costs reads of all of
// them, so requests for ever new services must not cause it each time.
type fullStore struct {
	at       int64 // Unix milliseconds
	services int
}

// fullFor is for how many milliseconds a full store is not looked at again.
const fullFor = 1000

// refuse returns the error for a service that finds the store full.
func (f fullStore) refuse(service string) error {
	return fmt.Errorf("%w: the store has %d services that are not configured, all with leases in force; list %q in the server's configuration, or raise MaxServices",
		ErrTooManyServices, f.services, service)
}

// makeRoom makes room for a service that is not configured. Servers that do so
// concurrently may exceed the bound, by one service each.
func (s *Server) makeRoom(ctx context.Context, service string, now int64) error {
	if _, listed := s.options.Services[service]; listed {
		return nil
	}
	if full := s.lastRefusal; full.services > 0 && now >= full.at && now < full.at+fullFor {
		return full.refuse(service)
	}
	made, err := s.listUnconfigured(ctx)
	if err != nil || len(made) < s.options.MaxServices {
		return err
	}
	for _, id := range made {
		if removed, err := s.removeService(ctx, id); removed || err != nil && ctx.Err() != nil {
			return err
		}
	}
	s.lastRefusal = fullStore{at: now, services: len(made)}
	return s.lastRefusal.refuse(service)
}

// listUnconfigured returns the services in the store that are not configured. If
// the store is not an [Enumerator], they are those that this server has seen.
func (s *Server) listUnconfigured(ctx context.Context) (ids []string, err error) {
	for after := ""; ; after = ids[len(ids)-1] {
		page, err := s.Services(ctx, after, maxPage)
		if errors.Is(err, errors.ErrUnsupported) {
			ids = s.seenServices()
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
