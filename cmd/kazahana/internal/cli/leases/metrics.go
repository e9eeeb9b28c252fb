// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// metricsHandler serves the metrics of reader and others to Prometheus. Metrics that fail are
// logged, and left out.
func metricsHandler(reader *sdk.ManualReader, log *slog.Logger, others ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{reader})
	registry.MustRegister(others...)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	})
}

// collector gives OpenTelemetry's metrics to Prometheus. OpenTelemetry's own exporter would
// need another version of the compression that the embedded engine uses.
type collector struct{ reader *sdk.ManualReader }

// Describe implements [prometheus.Collector]. It describes nothing: the metrics are known only
// when there are figures.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(metrics chan<- prometheus.Metric) {
	var all metricdata.ResourceMetrics
	if err := c.reader.Collect(context.Background(), &all); err != nil {
		metrics <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			collect(metrics, m)
		}
	}
}

// collect converts one metric: a counter or a histogram of seconds.
func collect(metrics chan<- prometheus.Metric, m metricdata.Metrics) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			desc, values := series(m, "_total", p.Attributes)
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(p.Value), values...)
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			desc, values := series(m, "_seconds", p.Attributes)
			metrics <- prometheus.MustNewConstHistogram(desc, p.Count, p.Sum, buckets(p), values...)
		}
	}
}

// series returns the description of m, and the values of its labels.
func series(m metricdata.Metrics, suffix string, attributes attribute.Set) (desc *prometheus.Desc, values []string) {
	var labels []string
	for _, a := range attributes.ToSlice() {
		labels = append(labels, underscored(string(a.Key)))
		values = append(values, a.Value.String())
	}
	return prometheus.NewDesc(underscored(m.Name)+suffix, m.Description, labels, nil), values
}

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// buckets returns, for each bound, the number of values that are not above it.
func buckets(p metricdata.HistogramDataPoint[float64]) map[float64]uint64 {
	counts := make(map[float64]uint64, len(p.Bounds))
	below := uint64(0)
	for i, bound := range p.Bounds {
		below += p.BucketCounts[i]
		counts[bound] = below
	}
	return counts
}
