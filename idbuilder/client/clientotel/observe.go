// SPDX-License-Identifier: Apache-2.0

package clientotel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/kazahana-db/kazahana/idbuilder/client"
)

// definitions are the counters; see the package's documentation.
var definitions = []struct {
	name, unit, about string
	value             func(m client.Metrics) int64
}{
	{"requests", "{try}", "Tries that were sent.", func(m client.Metrics) int64 { return m.Requests }},
	{"failures", "{try}", "Tries that failed, or were refused.", func(m client.Metrics) int64 { return m.Failures }},
	{"failovers", "{change}", "Changes to another URL.", func(m client.Metrics) int64 { return m.Failovers }},
	{"fetched", "{id}", "IDs that were fetched.", func(m client.Metrics) int64 { return m.Fetched }},
	{"discarded", "{id}", "IDs that were left out to keep the order.", func(m client.Metrics) int64 { return m.Discarded }},
	{"waits", "{call}", "Calls for an ID that had to wait for the service.", func(m client.Metrics) int64 { return m.Waits }},
	{"leases", "{lease}", "Leases of worker ids, with renewals.", func(m client.Metrics) int64 { return m.Leases }},
}

// Observe reports the metrics of a client whenever the provider's reader asks for
// them, until the registration is unregistered. It does not slow down calls for IDs. Observe one
// client of a process: the counts of two would overwrite each other. The error is the provider's,
// if it refuses an instrument.
func Observe(c *client.Client, provider metric.MeterProvider) (metric.Registration, error) {
	meter := provider.Meter(scope)
	var counters []metric.Int64ObservableCounter
	var all []metric.Observable
	for _, d := range definitions {
		counter, err := meter.Int64ObservableCounter("idbuilder.client."+d.name, metric.WithUnit(d.unit), metric.WithDescription(d.about))
		if err != nil {
			return nil, fmt.Errorf("clientotel: observe: %w", err)
		}
		counters, all = append(counters, counter), append(all, counter)
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		m := c.Metrics()
		for i, d := range definitions {
			o.ObserveInt64(counters[i], d.value(m))
		}
		return nil
	}, all...)
	if err != nil {
		return nil, fmt.Errorf("clientotel: observe: %w", err)
	}
	return registration, nil
}
