// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// collector gives OpenTelemetry's histograms to Prometheus. In a module of your own take
// go.opentelemetry.io/otel/exporters/prometheus: it does this for all kinds of metrics.
type collector struct{ reader *sdk.ManualReader }

// Describe implements [prometheus.Collector]. The metrics are known only when there are figures.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(out chan<- prometheus.Metric) {
	var all metricdata.ResourceMetrics
	if err := c.reader.Collect(context.Background(), &all); err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				collect(out, m, data.DataPoints)
			case metricdata.Histogram[int64]:
				collect(out, m, data.DataPoints)
			}
		}
	}
}

func collect[N int64 | float64](out chan<- prometheus.Metric, m metricdata.Metrics, points []metricdata.HistogramDataPoint[N]) {
	for _, p := range points {
		names, values := labels(p.Attributes)
		desc := prometheus.NewDesc(underscored(m.Name)+unit(m), m.Description, names, nil)
		out <- prometheus.MustNewConstHistogram(desc, p.Count, float64(p.Sum), buckets(p), values...)
	}
}

// buckets returns, for each bound, the number of values that are not above it.
func buckets[N int64 | float64](p metricdata.HistogramDataPoint[N]) map[float64]uint64 {
	counts, below := make(map[float64]uint64, len(p.Bounds)), uint64(0)
	for i, bound := range p.Bounds {
		below += p.BucketCounts[i]
		counts[bound] = below
	}
	return counts
}

func labels(attributes attribute.Set) (names, values []string) {
	for _, a := range attributes.ToSlice() {
		names = append(names, underscored(string(a.Key)))
		values = append(values, a.Value.String())
	}
	return names, values
}

// unit returns the suffix of a metric's name.
func unit(m metricdata.Metrics) string {
	switch m.Unit {
	case "s":
		return "_seconds"
	case "By":
		return "_bytes"
	}
	return ""
}

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }
