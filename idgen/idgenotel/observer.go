// SPDX-License-Identifier: Apache-2.0

// Package idgenotel reports what ID generators count to OpenTelemetry.
//
//	observer, err := idgenotel.NewObserver(otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	ids, err := idgen.NewClient(idgen.Options{Provider: leases, ServiceID: "payments", Observe: observer.Observe})
//
// It uses only the API; the program chooses SDK and exporter. All instruments are
// observed when they are read: they do not slow down making IDs. Clients of one
// service in one process are added up, and counts do not go back when a client is
// shut down.
//
// # Instruments
//
// All have the attribute kazahana.service, which is "default" if a client names
// none. Section 10.3 of the kazahana specification lists what to monitor.
//
//	kazahana.id.generated     counter {id}           IDs made; kazahana.id.kind is leased, cached_fallback or random_fallback
//	kazahana.id.exhausted     counter {millisecond}  milliseconds that ended after all of their IDs were used up
//	kazahana.id.throughput    up-down {id}/ms        IDs a millisecond that can be made now
//	kazahana.lease.active     up-down {lease}        leases in use; 0 in fallback
//	kazahana.lease.positions  up-down {position}     positions that are leased, of 2^21 of the default layout
//	kazahana.lease.acquires   counter {call}         calls of the provider; outcome is ok or failed
//	kazahana.lease.releases   counter {call}         likewise
//	kazahana.lease.rejected   counter {lease}        leases that were not usable: of another epoch, for instance
//	kazahana.clock.jumps      counter {jump}         kazahana.clock.direction is backward or forward
//
// docs/operations.md says what to alert on.
//
// An [Observer] is safe for concurrent use. Nothing here takes part in
// transactions.
package idgenotel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/kazahana-db/kazahana/idgen"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/idgen"

// Observer reports the metrics of clients: give its method Observe to each of them as
// [idgen.Options.Observe]. Make one with [NewObserver] for all clients of a process: two
// that report to one provider would contradict each other.
type Observer struct {
	instruments  []instrument
	registration metric.Registration

	mu      sync.Mutex
	clients map[*client]struct{}
	retired map[string]idgen.Metrics // by service: the counts of clients that were shut down
}

// client is one that is observed.
type client struct{ read func() idgen.Metrics }

// NewObserver creates the instruments in a meter of provider. The error is the
// provider's, for an instrument that it does not like.
func NewObserver(provider metric.MeterProvider) (*Observer, error) {
	o := &Observer{clients: map[*client]struct{}{}, retired: map[string]idgen.Metrics{}}
	meter := provider.Meter(scope)
	var err error
	if o.instruments, err = newInstruments(meter); err != nil {
		return nil, fmt.Errorf("idgenotel: new observer: %w", err)
	}
	var observables []metric.Observable
	for _, in := range o.instruments {
		observables = append(observables, in.observable)
	}
	if o.registration, err = meter.RegisterCallback(o.collect, observables...); err != nil {
		return nil, fmt.Errorf("idgenotel: new observer: %w", err)
	}
	return o, nil
}

// Observe is for [idgen.Options.Observe].
func (o *Observer) Observe(read func() idgen.Metrics) (forget func()) {
	c := &client{read}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clients[c] = struct{}{}
	return func() { o.retire(c) }
}

// retire keeps the counts of a client that was shut down, and lets go of it.
func (o *Observer) retire(c *client) {
	last := c.read()
	last.ActiveLeases, last.Throughput, last.LeasedThroughput = 0, 0, 0
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.clients[c]; known {
		delete(o.clients, c)
		o.retired[last.ServiceID] = sum(o.retired[last.ServiceID], last)
	}
}

// Close ends the reporting. The clients go on.
func (o *Observer) Close() error {
	if err := o.registration.Unregister(); err != nil {
		return fmt.Errorf("idgenotel: close: %w", err)
	}
	return nil
}

// collect is called for each reading.
func (o *Observer) collect(_ context.Context, to metric.Observer) error {
	for service, m := range o.totals() {
		for _, in := range o.instruments {
			in.report(to, service, m)
		}
	}
	return nil
}

// totals adds up the clients of each service.
func (o *Observer) totals() map[string]idgen.Metrics {
	o.mu.Lock()
	defer o.mu.Unlock()
	totals := maps.Clone(o.retired)
	for c := range o.clients {
		m := c.read()
		totals[m.ServiceID] = sum(totals[m.ServiceID], m)
	}
	return totals
}

// sum adds the metrics of two clients of one service.
func sum(a, b idgen.Metrics) idgen.Metrics {
	return idgen.Metrics{
		ServiceID:         b.ServiceID,
		ActiveLeases:      a.ActiveLeases + b.ActiveLeases,
		Throughput:        a.Throughput + b.Throughput,
		LeasedThroughput:  a.LeasedThroughput + b.LeasedThroughput,
		LeasedIDs:         a.LeasedIDs + b.LeasedIDs,
		CachedFallbackIDs: a.CachedFallbackIDs + b.CachedFallbackIDs,
		RandomFallbackIDs: a.RandomFallbackIDs + b.RandomFallbackIDs,
		Exhausted:         a.Exhausted + b.Exhausted,
		Acquires:          a.Acquires + b.Acquires,
		AcquireFailures:   a.AcquireFailures + b.AcquireFailures,
		RejectedLeases:    a.RejectedLeases + b.RejectedLeases,
		Releases:          a.Releases + b.Releases,
		ReleaseFailures:   a.ReleaseFailures + b.ReleaseFailures,
		ClockBackward:     a.ClockBackward + b.ClockBackward,
		ClockForward:      a.ClockForward + b.ClockForward,
	}
}

// newInstruments creates all of them, and reports all that is wrong.
func newInstruments(meter metric.Meter) ([]instrument, error) {
	var (
		all    []instrument
		faults []error
	)
	for _, d := range definitions {
		in, err := d.create(meter)
		all, faults = append(all, in), append(faults, err)
	}
	return all, errors.Join(faults...)
}

// The attributes of the instruments.
const (
	serviceKey   = attribute.Key("kazahana.service")
	kindKey      = attribute.Key("kazahana.id.kind")
	outcomeKey   = attribute.Key("outcome")
	directionKey = attribute.Key("kazahana.clock.direction")
)

// definition is an instrument and what it takes from the metrics of a service.
type definition struct {
	name, unit, about string
	upDown            bool // may go down
	points            []point
}

// point is one number of an instrument, told from others by an attribute.
type point struct {
	attributes []attribute.KeyValue
	value      func(m idgen.Metrics) int64
}

func one(value func(m idgen.Metrics) int64, attributes ...attribute.KeyValue) point {
	return point{attributes, value}
}

// definitions are all instruments; see the package's documentation.
var definitions = []definition{
	{name: "kazahana.id.generated", unit: "{id}", about: "IDs made.", points: []point{
		one(func(m idgen.Metrics) int64 { return m.LeasedIDs }, kindKey.String("leased")),
		one(func(m idgen.Metrics) int64 { return m.CachedFallbackIDs }, kindKey.String("cached_fallback")),
		one(func(m idgen.Metrics) int64 { return m.RandomFallbackIDs }, kindKey.String("random_fallback")),
	}},
	{name: "kazahana.id.exhausted", unit: "{millisecond}", about: "Milliseconds that ended after all of their IDs were used up.", points: []point{
		one(func(m idgen.Metrics) int64 { return m.Exhausted }),
	}},
	{name: "kazahana.id.throughput", unit: "{id}/ms", about: "IDs a millisecond that can be made now.", upDown: true, points: []point{
		one(func(m idgen.Metrics) int64 { return int64(m.Throughput) }),
	}},
	{name: "kazahana.lease.active", unit: "{lease}", about: "Leases in use.", upDown: true, points: []point{
		one(func(m idgen.Metrics) int64 { return int64(m.ActiveLeases) }),
	}},
	{name: "kazahana.lease.positions", unit: "{position}", about: "Positions of a millisecond that are leased.", upDown: true, points: []point{
		one(func(m idgen.Metrics) int64 { return int64(m.LeasedThroughput) }),
	}},
	{name: "kazahana.lease.acquires", unit: "{call}", about: "Calls of the provider for leases.", points: []point{
		one(func(m idgen.Metrics) int64 { return m.Acquires }, outcomeKey.String("ok")),
		one(func(m idgen.Metrics) int64 { return m.AcquireFailures }, outcomeKey.String("failed")),
	}},
	{name: "kazahana.lease.releases", unit: "{call}", about: "Calls of the provider to release leases.", points: []point{
		one(func(m idgen.Metrics) int64 { return m.Releases }, outcomeKey.String("ok")),
		one(func(m idgen.Metrics) int64 { return m.ReleaseFailures }, outcomeKey.String("failed")),
	}},
	{name: "kazahana.lease.rejected", unit: "{lease}", about: "Leases that were not usable.", points: []point{
		one(func(m idgen.Metrics) int64 { return m.RejectedLeases }),
	}},
	{name: "kazahana.clock.jumps", unit: "{jump}", about: "Jumps of the clock that were found.", points: []point{
		one(func(m idgen.Metrics) int64 { return m.ClockBackward }, directionKey.String("backward")),
		one(func(m idgen.Metrics) int64 { return m.ClockForward }, directionKey.String("forward")),
	}},
}

// instrument is a definition that a meter knows.
type instrument struct {
	definition
	observable metric.Int64Observable
}

func (d definition) create(meter metric.Meter) (instrument, error) {
	in, unit, about := instrument{definition: d}, metric.WithUnit(d.unit), metric.WithDescription(d.about)
	var err error
	if d.upDown {
		in.observable, err = meter.Int64ObservableUpDownCounter(d.name, unit, about)
	} else {
		in.observable, err = meter.Int64ObservableCounter(d.name, unit, about)
	}
	return in, err
}

// report observes the points for a service.
func (in instrument) report(to metric.Observer, service string, m idgen.Metrics) {
	if service == "" {
		service = "default"
	}
	for _, p := range in.points {
		attributes := append([]attribute.KeyValue{serviceKey.String(service)}, p.attributes...)
		to.ObserveInt64(in.observable, p.value(m), metric.WithAttributes(attributes...))
	}
}
