// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/kazahana-db/kazahana/persistable/persistableotel"
)

// Metrics are the figures of one process.
type Metrics struct {
	Tracer   *persistableotel.Tracer // for persistable.Options
	registry *prometheus.Registry
}

// New returns metrics. Spans are not kept: for these give the tracer the provider of an
// OpenTelemetry SDK instead.
func New() (*Metrics, error) {
	reader := sdk.NewManualReader()
	tracer, err := persistableotel.NewTracer(noop.NewTracerProvider(), sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector{reader})
	return &Metrics{tracer, registry}, nil
}

// Handler serves the metrics to Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}
