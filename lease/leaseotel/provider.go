// SPDX-License-Identifier: Apache-2.0

// Package leaseotel reports what a lease provider grants and refuses to
// OpenTelemetry.
//
//	counted, err := leaseotel.Instrument(server, otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	handler, err := leasehttp.NewHandler(counted, …) // serve what is counted
//
// It uses the API alone, and wraps any [idgen.LeaseProvider]: a [lease.Server]
// where it is served, or what a program leases from.
//
// # Instruments
//
//	kazahana.lease.granted     counter {lease}  leases granted
//	kazahana.lease.refused     counter {call}   acquisitions that brought none, with error.type
//	kazahana.lease.released    counter {lease}  leases released
//	kazahana.lease.unreleased  counter {call}   releases that were refused or failed, with error.type
//	kazahana.lease.duration    histogram s      time of each call, with kazahana.operation (acquire, release) and error.type
//
// All carry kazahana.service, but for calls that name no service that there is.
// error.type is one of exhausted, quarantine, invalid, unknown_service, epoch,
// corrupt, not_found, signature, expired_timestamp, last_ts, clock, canceled
// and store, the last for whatever else the store or the network says.
//
// A release over HTTP that names no service is a call for each service until one has the
// lease; the others count as unreleased, with not_found or signature.
//
// The provider that [Instrument] returns is safe for concurrent use. Nothing
// here takes part in transactions.
package leaseotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/lease"

// The attributes of the instruments.
const (
	serviceKey   = attribute.Key("kazahana.service")
	operationKey = attribute.Key("kazahana.operation")
	errorKey     = attribute.Key("error.type")
)

// provider counts what passes through it.
type provider struct {
	next                                   idgen.LeaseProvider
	granted, refused, released, unreleased metric.Int64Counter
	duration                               metric.Float64Histogram
}

// lister lists leases and services, as [lease.Server] and a client of a lease server do.
type lister interface {
	List(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error)
	Services(ctx context.Context, after string, limit int) ([]string, error)
}

// listingProvider is a provider over one that lists, too. Lists are not counted.
type listingProvider struct {
	*provider
	lister
}

// Instrument returns a provider that does what next does, and counts it in a
// meter of meters. If next lists leases and services, so does the provider: a lease server
// serves the lists of what it is given. The error is that of meters, for an instrument that
// it does not like.
func Instrument(next idgen.LeaseProvider, meters metric.MeterProvider) (idgen.LeaseProvider, error) {
	var (
		p      = &provider{next: next}
		meter  = meters.Meter(scope)
		faults []error
		err    error
	)
	for _, c := range []struct {
		counter           *metric.Int64Counter
		name, unit, about string
	}{
		{&p.granted, "kazahana.lease.granted", "{lease}", "Leases granted."},
		{&p.refused, "kazahana.lease.refused", "{call}", "Acquisitions that brought no lease."},
		{&p.released, "kazahana.lease.released", "{lease}", "Leases released."},
		{&p.unreleased, "kazahana.lease.unreleased", "{call}", "Releases that were refused or failed."},
	} {
		*c.counter, err = meter.Int64Counter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.about))
		faults = append(faults, err)
	}
	p.duration, err = meter.Float64Histogram("kazahana.lease.duration", metric.WithUnit("s"), metric.WithDescription("Time of calls."),
		metric.WithExplicitBucketBoundaries(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5))
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, fmt.Errorf("leaseotel: instrument: %w", err)
	}
	if l, lists := next.(lister); lists {
		return listingProvider{p, l}, nil
	}
	return p, nil
}

// Acquire implements [idgen.LeaseProvider].
func (p *provider) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	begin := time.Now()
	leases, err := p.next.Acquire(ctx, req)
	attributes := p.timed(ctx, "acquire", req.ServiceID, begin, err)
	if err != nil {
		p.refused.Add(ctx, 1, attributes)
	} else {
		p.granted.Add(ctx, int64(len(leases)), attributes)
	}
	return leases, err
}

// Release implements [idgen.LeaseProvider].
func (p *provider) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	begin := time.Now()
	err := p.next.Release(ctx, req)
	attributes := p.timed(ctx, "release", req.ServiceID, begin, err)
	if err != nil {
		p.unreleased.Add(ctx, 1, attributes)
	} else {
		p.released.Add(ctx, 1, attributes)
	}
	return err
}

// timed records the time of a call and returns what to count it under.
func (p *provider) timed(ctx context.Context, operation, service string, begin time.Time, err error) metric.MeasurementOption {
	attributes := make([]attribute.KeyValue, 0, 3)
	if service == "" {
		service = lease.DefaultService
	}
	if !errors.Is(err, lease.ErrInvalid) && !errors.Is(err, lease.ErrUnknownService) && !errors.Is(err, lease.ErrTooManyServices) {
		attributes = append(attributes, serviceKey.String(service)) // else callers could make up any number of them
	}
	if err != nil {
		attributes = append(attributes, errorKey.String(reason(err)))
	}
	counted := metric.WithAttributeSet(attribute.NewSet(attributes...))
	p.duration.Record(ctx, time.Since(begin).Seconds(), metric.WithAttributes(append(attributes, operationKey.String(operation))...))
	return counted
}

// reasons are the errors that have a word of their own.
var reasons = []struct {
	err  error
	word string
}{
	{lease.ErrExhausted, "exhausted"},
	{lease.ErrBudget, "budget"},
	{lease.ErrQuarantine, "quarantine"},
	{lease.ErrUnknownService, "unknown_service"},
	{lease.ErrTooManyServices, "too_many_services"},
	{lease.ErrInvalid, "invalid"},
	{lease.ErrCorrupt, "corrupt"},
	{lease.ErrNewer, "newer"},
	{lease.ErrNotFound, "not_found"},
	{lease.ErrSignature, "signature"},
	{lease.ErrExpiredTimestamp, "expired_timestamp"},
	{lease.ErrLastTs, "last_ts"},
	{idgen.ErrCustomEpochMismatch, "epoch"},
	{idgen.ErrBeforeCustomEpoch, "clock"},
	{idgen.ErrTimeOverflow, "clock"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "canceled"},
}

// reason returns the word for an error.
func reason(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.word
		}
	}
	return "store"
}
