// SPDX-License-Identifier: Apache-2.0

package clientotel

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/kazahana-db/kazahana/idbuilder/client"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/idbuilder/client"

// Transport makes a span of each request and measures its duration. Make one with
// [NewTransport].
type Transport struct {
	base     http.RoundTripper
	tracer   trace.Tracer
	duration metric.Float64Histogram
}

// NewTransport returns a Transport that sends requests with base; nil means
// [http.DefaultTransport]. The error is the meter provider's, if it refuses an instrument.
func NewTransport(base http.RoundTripper, tracers trace.TracerProvider, meters metric.MeterProvider) (*Transport, error) {
	if base == nil {
		base = http.DefaultTransport
	}
	duration, err := meters.Meter(scope).Float64Histogram("http.client.request.duration", metric.WithUnit("s"), metric.WithDescription("Duration of tries of requests."))
	if err != nil {
		return nil, fmt.Errorf("clientotel: new transport: %w", err)
	}
	return &Transport{base, tracers.Tracer(scope), duration}, nil
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	method := attribute.String("http.request.method", r.Method)
	ctx, span := t.tracer.Start(r.Context(), r.Method+" "+r.URL.Path, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(method, attribute.String("server.address", r.URL.Hostname()), attribute.String("url.path", r.URL.Path)))
	defer span.End()
	begun := time.Now()
	sent := r.Clone(ctx)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(sent.Header))
	response, err := t.base.RoundTrip(sent)
	outcome := outcomeOf(response, err)
	span.SetAttributes(outcome)
	if err != nil || response.StatusCode >= 400 {
		span.SetStatus(codes.Error, outcome.Value.String())
	}
	// The context may have ended, and the measurement still counts.
	t.duration.Record(context.WithoutCancel(ctx), time.Since(begun).Seconds(), metric.WithAttributes(method, outcome))
	return response, err
}

// outcomeOf returns the status of the answer, or the type of the error.
func outcomeOf(response *http.Response, err error) attribute.KeyValue {
	if err != nil {
		return attribute.String("error.type", fmt.Sprintf("%T", err))
	}
	return attribute.Int("http.response.status_code", response.StatusCode)
}

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
