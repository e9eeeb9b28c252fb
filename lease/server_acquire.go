// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
)

// maxAttempts bounds the transactions of one call of Acquire. A call needs more
// than one if the queue named blocks that have changed since, or had to be
// corrected first.
const maxAttempts = 8

// Acquire implements [idgen.LeaseProvider]. It grants one lease if there are
// that many adjacent positions free, else several. Errors: [ErrInvalid],
// [ErrUnknownService], [ErrTooManyServices], [ErrExhausted], [ErrBudget],
// [ErrQuarantine], [idgen.ErrCustomEpochMismatch], [ErrCorrupt] (blocks and entries of the
// queue that cannot be read are passed over and logged; they are named where nothing else is free),
// [idgen.ErrBeforeCustomEpoch] or [idgen.ErrTimeOverflow] if the store's clock is outside of what the layout can
// express, and those of the store.
func (s *Server) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	r, err := s.checkAcquire(ctx, req)
	if err != nil {
		return nil, err
	}
	leases, err := s.acquire(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("lease: acquire for service %q: %w", r.service, err)
	}
	return leases, nil
}

// acquire runs transactions until one of them grants or refuses.
func (s *Server) acquire(ctx context.Context, r *acquireRequest) ([]idgen.Lease, error) {
	var result outcome
	for range maxAttempts {
		var err error
		if result, err = s.tryAcquire(ctx, r); err != nil {
			return nil, err
		}
		switch result.next {
		case answer:
			return result.leases, result.refusal
		case createService:
			if err := s.createService(ctx, r.service, r.config); err != nil {
				return nil, err
			}
		}
	}
	return nil, result.refusal
}

// tryAcquire runs one transaction.
func (s *Server) tryAcquire(ctx context.Context, r *acquireRequest) (result outcome, err error) {
	var record serviceRecord
	var damage []error
	err = s.updateService(ctx, r.service, r.config, func(tx *serviceTx) (err error) {
		a := acquisition{tx: tx, request: r}
		result, err = a.run(ctx)
		record, damage = tx.record, tx.damage
		return err
	})
	if len(damage) > 0 {
		s.logPassedOver(ctx, r.service, damage)
	}
	if err == nil && result.next != createService {
		s.rememberRecord(r.service, record)
	}
	return result, err
}

// A service's rows that cannot be read are logged once in logEvery at most, and maxLogged of them: each
// acquisition meets them again.
const (
	logEvery  = time.Minute
	maxLogged = 4
)

// passedOver is what is logged of the rows of a service that cannot be read.
type passedOver struct {
	logged time.Time // when it was logged last
	since  int       // transactions that have met such rows since
}

// logPassedOver logs that an acquisition has passed over rows.
func (s *Server) logPassedOver(ctx context.Context, service string, damage []error) {
	n, due := s.notePassedOver(service, time.Now())
	if !due {
		return
	}
	s.options.Logger.ErrorContext(ctx, "lease: what cannot be read was passed over, and its positions are not leased: \"kazahana doctor\" says more",
		"service", service, "rows", len(damage), "transactions", n, "error", errors.Join(damage[:min(len(damage), maxLogged)]...))
}

// notePassedOver counts a transaction that has passed over rows. It reports whether that is to be logged, and
// the number of such transactions since it was logged last.
func (s *serverState) notePassedOver(service string, now time.Time) (n int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.passed[service]
	p.since++
	if due = p.logged.IsZero() || now.Sub(p.logged) >= logEvery; due {
		n, p = p.since, passedOver{logged: now}
	}
	maps.DeleteFunc(s.passed, func(_ string, p passedOver) bool { return now.Sub(p.logged) >= 2*logEvery })
	s.passed[service] = p
	return n, due
}

// checkAcquire returns the request that req and ctx make, or what is wrong with
// it.
func (s *Server) checkAcquire(ctx context.Context, req idgen.AcquireRequest) (*acquireRequest, error) {
	service, config, err := s.options.resolveService(req.ServiceID)
	if err != nil {
		return nil, err
	}
	throughput, bitSeq, err := s.options.checkRequest(req, config)
	if err != nil {
		return nil, fmt.Errorf("lease: acquire for service %q: %w", service, err)
	}
	r := &acquireRequest{
		service: service, config: config, throughput: throughput, bitSeq: bitSeq,
		meta: maps.Clone(req.Meta), budget: refusal.BudgetOf(ctx), maxLeases: s.options.MaxLeases,
	}
	if r.budget != nil {
		r.budget.MarkApplied()
		r.addReplaces(req.Replaces)
	}
	if req.RequestKey != "" {
		r.keyHash = requestHash(req.RequestKey)
	}
	return r, nil
}

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
// the store cannot tell them, they are those that this server has seen.
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
