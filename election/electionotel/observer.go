// SPDX-License-Identifier: Apache-2.0

// Package electionotel reports what elections count to OpenTelemetry.
//
//	observer, err := electionotel.NewObserver(otel.GetMeterProvider())
//	if err != nil {
//		return err
//	}
//	e, err := election.New(db, "invoices", election.Options{Observer: observer})
//
// It uses only the API; the program chooses SDK and exporter. All instruments are
// observed when they are read. Candidates for one name in one process are added up,
// and counts do not go back when one of them ends.
//
// # Instruments
//
// All carry the attribute kazahana.election, the name.
//
//	kazahana.election.leading   up-down {candidate}    candidates that lead: 1 over all processes, but for moments
//	kazahana.election.rank      gauge {rank}           of the latest term that a candidate of this process led
//	kazahana.election.standbys  up-down {standby}      candidates that are registered, as the leader sees them
//	kazahana.election.terms     counter {term}         terms that were won; kazahana.election.begin is takeover (of a lapsed lease) or vacancy
//	kazahana.election.ended     counter {term}         terms that ended; outcome is resigned or deposed
//	kazahana.election.renewals  counter {renewal}      of leases; outcome is ok, late (left out since one was under way or the process stood still) or failed
//	kazahana.election.failures  counter {transaction}  looks and claims that failed and were tried again
//	kazahana.election.vacant    counter s              time without a leader, for each candidate that waited
//
// docs/operations.md says what to alert on.
//
// An [Observer] is safe for concurrent use. Nothing here takes part in transactions.
package electionotel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/kazahana-db/kazahana/election"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/election"

// Observer reports the metrics of the elections that it is the
// [election.Options.Observer] of. Make one with [NewObserver] for all of a process: two that
// report to one provider would contradict each other.
type Observer struct {
	instruments  instruments
	registration metric.Registration

	mu         sync.Mutex
	candidates map[*candidate]struct{}
	retired    map[string]election.Metrics // by name: the counts of candidates that have ended
}

// candidate is one that is observed.
type candidate struct {
	read   func() election.Metrics
	before election.Metrics // what was counted before Run
}

var _ election.Observer = (*Observer)(nil)

// NewObserver creates the instruments in a meter of provider. The error is the
// provider's, for an instrument that it does not like.
func NewObserver(provider metric.MeterProvider) (*Observer, error) {
	o := &Observer{candidates: map[*candidate]struct{}{}, retired: map[string]election.Metrics{}}
	meter := provider.Meter(scope)
	var err error
	if o.instruments, err = newInstruments(meter); err != nil {
		return nil, fmt.Errorf("electionotel: new observer: %w", err)
	}
	if o.registration, err = meter.RegisterCallback(o.collect, o.instruments.observables()...); err != nil {
		return nil, fmt.Errorf("electionotel: new observer: %w", err)
	}
	return o, nil
}

// Observe implements [election.Observer].
func (o *Observer) Observe(read func() election.Metrics) (forget func()) {
	c := &candidate{read: read, before: read()}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.candidates[c] = struct{}{}
	return func() { o.retire(c) }
}

// retire keeps the counts of a candidate that has ended, and lets go of it.
func (o *Observer) retire(c *candidate) {
	last := c.read()
	last.Leading, last.Standbys = false, 0
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.candidates[c]; known {
		delete(o.candidates, c)
		o.retired[last.Name] = sum(o.retired[last.Name], since(last, c.before))
	}
}

// Close ends the reporting. The elections go on.
func (o *Observer) Close() error {
	if err := o.registration.Unregister(); err != nil {
		return fmt.Errorf("electionotel: close: %w", err)
	}
	return nil
}

// collect is called for each reading.
func (o *Observer) collect(_ context.Context, to metric.Observer) error {
	for _, m := range o.totals() {
		o.instruments.report(to, m)
	}
	return nil
}

// totals adds up the candidates of each name.
func (o *Observer) totals() map[string]election.Metrics {
	o.mu.Lock()
	defer o.mu.Unlock()
	totals := maps.Clone(o.retired)
	for c := range o.candidates {
		m := since(c.read(), c.before)
		totals[m.Name] = sum(totals[m.Name], m)
	}
	return totals
}

// since returns m without what was counted before.
func since(m, before election.Metrics) election.Metrics {
	m.Terms -= before.Terms
	m.Takeovers -= before.Takeovers
	m.Deposed -= before.Deposed
	m.Resigned -= before.Resigned
	m.Renewals -= before.Renewals
	m.LateRenewals -= before.LateRenewals
	m.FailedRenewals -= before.FailedRenewals
	m.Failures -= before.Failures
	m.Vacant -= before.Vacant
	return m
}

// sum adds the metrics of two candidates for one name, one of which leads at most.
func sum(a, b election.Metrics) election.Metrics {
	return election.Metrics{
		Name:           b.Name,
		Leading:        a.Leading || b.Leading,
		Rank:           max(a.Rank, b.Rank),
		Standbys:       max(a.Standbys, b.Standbys),
		Terms:          a.Terms + b.Terms,
		Takeovers:      a.Takeovers + b.Takeovers,
		Deposed:        a.Deposed + b.Deposed,
		Resigned:       a.Resigned + b.Resigned,
		Renewals:       a.Renewals + b.Renewals,
		LateRenewals:   a.LateRenewals + b.LateRenewals,
		FailedRenewals: a.FailedRenewals + b.FailedRenewals,
		Failures:       a.Failures + b.Failures,
		Vacant:         a.Vacant + b.Vacant,
	}
}

// The attributes of the instruments.
const (
	nameKey    = attribute.Key("kazahana.election")
	beginKey   = attribute.Key("kazahana.election.begin")
	outcomeKey = attribute.Key("outcome")
)

// kind is the kind of an instrument.
type kind int

const (
	counter kind = iota
	upDown
	gauge
)

// definition is an instrument and what it takes from the metrics of a name.
type definition struct {
	name, unit, about string
	kind              kind
	points            []point
}

// point is one number of an instrument, told from others by an attribute.
type point struct {
	attributes []attribute.KeyValue
	value      func(m election.Metrics) int64
}

func one(value func(m election.Metrics) int64, attributes ...attribute.KeyValue) point {
	return point{attributes, value}
}

// definitions are all instruments with whole numbers; see the package's documentation.
var definitions = []definition{
	{name: "kazahana.election.leading", unit: "{candidate}", about: "Candidates that lead.", kind: upDown, points: []point{
		one(func(m election.Metrics) int64 { return toInt(m.Leading) }),
	}},
	{name: "kazahana.election.rank", unit: "{rank}", about: "The rank of the latest term led.", kind: gauge, points: []point{
		one(func(m election.Metrics) int64 { return m.Rank }),
	}},
	{name: "kazahana.election.standbys", unit: "{standby}", about: "Candidates that are registered.", kind: upDown, points: []point{
		one(func(m election.Metrics) int64 { return m.Standbys }),
	}},
	{name: "kazahana.election.terms", unit: "{term}", about: "Terms won.", points: []point{
		one(func(m election.Metrics) int64 { return m.Takeovers }, beginKey.String("takeover")),
		one(func(m election.Metrics) int64 { return m.Terms - m.Takeovers }, beginKey.String("vacancy")),
	}},
	{name: "kazahana.election.ended", unit: "{term}", about: "Terms that ended.", points: []point{
		one(func(m election.Metrics) int64 { return m.Deposed }, outcomeKey.String("deposed")),
		one(func(m election.Metrics) int64 { return m.Resigned }, outcomeKey.String("resigned")),
	}},
	{name: "kazahana.election.renewals", unit: "{renewal}", about: "Renewals of leases.", points: []point{
		one(func(m election.Metrics) int64 { return m.Renewals }, outcomeKey.String("ok")),
		one(func(m election.Metrics) int64 { return m.LateRenewals }, outcomeKey.String("late")),
		one(func(m election.Metrics) int64 { return m.FailedRenewals }, outcomeKey.String("failed")),
	}},
	{name: "kazahana.election.failures", unit: "{transaction}", about: "Looks and claims that failed and were tried again.", points: []point{
		one(func(m election.Metrics) int64 { return m.Failures }),
	}},
}

func toInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// instruments are those that a meter knows.
type instruments struct {
	numbers []metric.Int64Observable // as definitions
	vacant  metric.Float64ObservableCounter
}

// newInstruments creates all of them, and reports all that is wrong.
func newInstruments(meter metric.Meter) (all instruments, err error) {
	var faults []error
	for _, d := range definitions {
		in, err := d.create(meter)
		all.numbers, faults = append(all.numbers, in), append(faults, err)
	}
	all.vacant, err = meter.Float64ObservableCounter("kazahana.election.vacant", metric.WithUnit("s"), metric.WithDescription("Time without a leader."))
	return all, errors.Join(append(faults, err)...)
}

func (d definition) create(meter metric.Meter) (in metric.Int64Observable, err error) {
	unit, about := metric.WithUnit(d.unit), metric.WithDescription(d.about)
	switch d.kind {
	case upDown:
		return meter.Int64ObservableUpDownCounter(d.name, unit, about)
	case gauge:
		return meter.Int64ObservableGauge(d.name, unit, about)
	}
	return meter.Int64ObservableCounter(d.name, unit, about)
}

// observables returns the instruments for the registration of a callback.
func (in instruments) observables() (all []metric.Observable) {
	for _, number := range in.numbers {
		all = append(all, number)
	}
	return append(all, in.vacant)
}

// report observes the points of a name.
func (in instruments) report(to metric.Observer, m election.Metrics) {
	name := nameKey.String(m.Name)
	for i, d := range definitions {
		for _, p := range d.points {
			attributes := append([]attribute.KeyValue{name}, p.attributes...)
			to.ObserveInt64(in.numbers[i], p.value(m), metric.WithAttributes(attributes...))
		}
	}
	to.ObserveFloat64(in.vacant, m.Vacant.Seconds(), metric.WithAttributes(name))
}
