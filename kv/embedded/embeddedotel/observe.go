// SPDX-License-Identifier: Apache-2.0

// Package embeddedotel reports the metrics of the embedded engine to OpenTelemetry.
//
//	db, err := embedded.Open("data")
//	if err != nil {
//		return err
//	}
//	registration, err := embeddedotel.Observe(otel.GetMeterProvider(), db, attribute.String("kazahana.database", "orders"))
//	if err != nil {
//		return err
//	}
//	defer registration.Unregister()
//
// It uses only the API; the program chooses SDK and exporter. The instruments are observed when
// they are read, so they do not slow down transactions.
//
// # Instruments
//
// Counters begin at 0 when the database is opened. Those of the disk are 0 for a database in memory.
//
//	kazahana.engine.transactions     counter {transaction}  transactions that wrote; outcome is committed, conflict, too_old, refused or failed
//	kazahana.engine.retries          counter {attempt}      attempts that OnError allowed
//	kazahana.engine.batches          counter {batch}        batches of commits; divide the committed transactions by it for the mean size
//	kazahana.engine.syncs            counter {sync}         syncs of the log
//	kazahana.engine.sync.time        counter s              time of these syncs; divide it by their number for the mean
//	kazahana.engine.queued           up-down {transaction}  commits that wait
//	kazahana.engine.delays           counter {delay}        how often commits had to wait for room in the window
//	kazahana.engine.delay.time       counter s              how long, in all
//	kazahana.engine.window           up-down By             memory of recent commits
//	kazahana.engine.window.limit     up-down By             the most that it may be
//	kazahana.engine.log              up-down By             log that an opening has to read
//	kazahana.engine.base             up-down By             the store on disk
//	kazahana.engine.base.compaction  up-down By             data that waits for compaction
//	kazahana.engine.base.lag         gauge s                how old the state of the base is: a little over 5 s while there are commits
//	kazahana.engine.reader.lag       gauge s                how old the oldest version in memory is
//	kazahana.engine.cache.reads      counter {read}         reads of blocks; outcome is hit or miss
//	kazahana.engine.watches          up-down {watch}        watches that have not fired
//	kazahana.engine.backups          counter {backup}       backups made
//	kazahana.engine.fault            gauge {fault}          1 after the disk has failed: the database commits nothing more
//
// docs/operations.md says what to watch, and what to do. Nothing here takes part in transactions.
package embeddedotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/kv/embedded"

// Observe creates the instruments in a meter of provider, and reports the metrics of db with the attributes until the
// registration is ended. Databases of one process that report to one provider need attributes that tell them apart. The
// error is the provider's, for an instrument that it does not like.
func Observe(provider metric.MeterProvider, db *embedded.Database, attributes ...attribute.KeyValue) (metric.Registration, error) {
	meter := provider.Meter(scope)
	var (
		instruments []metric.Float64Observable
		observables []metric.Observable
		faults      []error
	)
	for _, d := range definitions {
		in, err := d.create(meter)
		instruments, observables, faults = append(instruments, in), append(observables, in), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("embeddedotel: observe: %w", err)
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		m := db.Metrics()
		for i, d := range definitions {
			for _, p := range d.points {
				to.ObserveFloat64(instruments[i], p.value(&m), metric.WithAttributes(attributes...), metric.WithAttributes(p.attributes...))
			}
		}
		return nil
	}, observables...)
	if err != nil {
		return nil, fmt.Errorf("embeddedotel: observe: %w", err)
	}
	return registration, nil
}

// kind is the kind of an instrument.
type kind int

const (
	counter kind = iota
	upDown
	gauge
)

// definition is an instrument and what it takes from the metrics of a database.
type definition struct {
	name, unit, about string
	kind              kind
	points            []point
}

// point is one number of an instrument, told from others by an attribute.
type point struct {
	attributes []attribute.KeyValue
	value      func(m *embedded.Metrics) float64
}

func one(value func(m *embedded.Metrics) float64, attributes ...attribute.KeyValue) []point {
	return []point{{attributes, value}}
}

// number is one for a count or a size.
func number(value func(m *embedded.Metrics) int64, outcome ...string) []point {
	var attributes []attribute.KeyValue
	for _, o := range outcome {
		attributes = append(attributes, attribute.String("outcome", o))
	}
	return one(func(m *embedded.Metrics) float64 { return float64(value(m)) }, attributes...)
}

func points(lists ...[]point) (all []point) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// age is the time between two versions, of which there are about a million a second.
func age(from, to int64) float64 {
	return max(0, (time.Duration(to-from) * time.Microsecond).Seconds())
}

// definitions are all instruments; see the package's documentation.
var definitions = []definition{
	{name: "kazahana.engine.transactions", unit: "{transaction}", about: "Transactions that had something to write.", points: points(
		number(func(m *embedded.Metrics) int64 { return m.Commits }, "committed"),
		number(func(m *embedded.Metrics) int64 { return m.Conflicts }, "conflict"),
		number(func(m *embedded.Metrics) int64 { return m.TooOld }, "too_old"),
		number(func(m *embedded.Metrics) int64 { return m.Refused }, "refused"),
		number(func(m *embedded.Metrics) int64 { return m.Failed }, "failed"),
	)},
	{name: "kazahana.engine.retries", unit: "{attempt}", about: "Attempts that OnError allowed.", points: number(func(m *embedded.Metrics) int64 { return m.Retries })},
	{name: "kazahana.engine.batches", unit: "{batch}", about: "Batches of commits.", points: number(func(m *embedded.Metrics) int64 { return m.BatchSize.Count })},
	{name: "kazahana.engine.syncs", unit: "{sync}", about: "Syncs of the log.", points: number(func(m *embedded.Metrics) int64 { return m.Sync.Count })},
	{name: "kazahana.engine.sync.time", unit: "s", about: "Time of the syncs of the log.", points: one(func(m *embedded.Metrics) float64 { return m.Sync.Sum.Seconds() })},
	{name: "kazahana.engine.queued", unit: "{transaction}", about: "Commits that wait.", kind: upDown, points: number(func(m *embedded.Metrics) int64 { return m.QueuedCommits })},
	{name: "kazahana.engine.delays", unit: "{delay}", about: "How often commits had to wait for room in the window.", points: number(func(m *embedded.Metrics) int64 { return m.Delays })},
	{name: "kazahana.engine.delay.time", unit: "s", about: "How long commits waited for room in the window.", points: one(func(m *embedded.Metrics) float64 { return m.DelayTime.Seconds() })},
	{name: "kazahana.engine.window", unit: "By", about: "Memory of recent commits.", kind: upDown, points: number(func(m *embedded.Metrics) int64 { return m.WindowBytes })},
	{name: "kazahana.engine.window.limit", unit: "By", about: "The most memory that recent commits may take.", kind: upDown, points: number(func(m *embedded.Metrics) int64 { return m.WindowLimit })},
	{name: "kazahana.engine.log", unit: "By", about: "Log that an opening has to read.", kind: upDown, points: number(func(m *embedded.Metrics) int64 { return m.LogBytes })},
	{name: "kazahana.engine.base", unit: "By", about: "The store on disk.", kind: upDown, points: number(func(m *embedded.Metrics) int64 { return m.BaseBytes })},
	{name: "kazahana.engine.base.compaction", unit: "By", about: "Data that waits for compaction.", kind: upDown, points: number(func(m *embedded.Metrics) int64 { return m.BaseCompactBytes })},
	{name: "kazahana.engine.base.lag", unit: "s", about: "How old the state of the base is.", kind: gauge, points: one(baseLag)},
	{name: "kazahana.engine.reader.lag", unit: "s", about: "How old the oldest version in memory is.", kind: gauge, points: one(func(m *embedded.Metrics) float64 { return age(m.OldestVersion, m.Version) })},
	{name: "kazahana.engine.cache.reads", unit: "{read}", about: "Reads of blocks.", points: points(
		number(func(m *embedded.Metrics) int64 { return m.BaseCacheHits }, "hit"),
		number(func(m *embedded.Metrics) int64 { return m.BaseCacheMisses }, "miss"),
	)},
	{name: "kazahana.engine.watches", unit: "{watch}", about: "Watches that have not fired.", kind: upDown, points: number(func(m *embedded.Metrics) int64 { return m.Watches })},
	{name: "kazahana.engine.backups", unit: "{backup}", about: "Backups made.", points: number(func(m *embedded.Metrics) int64 { return m.Backups })},
	{name: "kazahana.engine.fault", unit: "{fault}", about: "1 after the disk has failed.", kind: gauge, points: one(fault)},
}

// baseLag is 0 where there is no base: a database in memory has none.
func baseLag(m *embedded.Metrics) float64 {
	if m.AbsorbedVersion == 0 {
		return 0
	}
	return age(m.AbsorbedVersion, m.Version)
}

func fault(m *embedded.Metrics) float64 {
	if m.Fault != "" {
		return 1
	}
	return 0
}

func (d definition) create(meter metric.Meter) (in metric.Float64Observable, err error) {
	unit, about := metric.WithUnit(d.unit), metric.WithDescription(d.about)
	switch d.kind {
	case upDown:
		return meter.Float64ObservableUpDownCounter(d.name, unit, about)
	case gauge:
		return meter.Float64ObservableGauge(d.name, unit, about)
	}
	return meter.Float64ObservableCounter(d.name, unit, about)
}
