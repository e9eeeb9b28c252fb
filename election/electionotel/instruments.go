// SPDX-License-Identifier: Apache-2.0

package electionotel

import (
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kazahana-db/kazahana/election"
)

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
