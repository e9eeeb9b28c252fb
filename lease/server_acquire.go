// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
// [*QuarantineError], [*idgen.CustomEpochMismatchError], [ErrCorrupt] (blocks and entries of the
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
