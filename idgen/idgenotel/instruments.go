// SPDX-License-Identifier: Apache-2.0

package idgenotel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/kazahana-db/kazahana/idgen"
)

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
	{name: "kazahana.id.exhausted", unit: "{millisecond}", about: "Milliseconds whose IDs were used up before their end.", points: []point{
		one(func(m idgen.Metrics) int64 { return m.Exhausted }),
	}},
	{name: "kazahana.id.throughput", unit: "{id}/ms", about: "IDs a millisecond that can be made now.", upDown: true, points: []point{
		one(func(m idgen.Metrics) int64 { return int64(m.ThroughputPerMs) }),
	}},
	{name: "kazahana.lease.active", unit: "{lease}", about: "Leases in use.", upDown: true, points: []point{
		one(func(m idgen.Metrics) int64 { return int64(m.ActiveLeases) }),
	}},
	{name: "kazahana.lease.positions", unit: "{position}", about: "Positions of a millisecond that are leased.", upDown: true, points: []point{
		one(func(m idgen.Metrics) int64 { return int64(m.LeasedPerMs) }),
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
