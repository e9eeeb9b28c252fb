// SPDX-License-Identifier: Apache-2.0

package idgenotel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"go.opentelemetry.io/otel/metric"

	"github.com/kazahana-db/kazahana/idgen"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/idgen"

// Observer reports the metrics of the clients that it is the
// [idgen.Options.Observer] of. Make one with [NewObserver] for all clients of a
// process: two that report to one provider would contradict each other.
type Observer struct {
	instruments  []instrument
	registration metric.Registration

	mu      sync.Mutex
	clients map[*client]struct{}
	retired map[string]idgen.Metrics // by service: the counts of clients that were shut down
}

// client is one that is observed.
type client struct{ read func() idgen.Metrics }

var _ idgen.Observer = (*Observer)(nil)

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

// Observe implements [idgen.Observer].
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
	last.ActiveLeases, last.ThroughputPerMs, last.LeasedPerMs = 0, 0, 0
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
		ThroughputPerMs:   a.ThroughputPerMs + b.ThroughputPerMs,
		LeasedPerMs:       a.LeasedPerMs + b.LeasedPerMs,
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
