// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// metricsHandler shows what reader collects in Prometheus' text format, version
// 0.0.4. OpenTelemetry's own exporter would bring along another version of the
// compression that the embedded engine uses.
func metricsHandler(reader *sdk.ManualReader) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(r.Context(), &all); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		var page bytes.Buffer
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				exposeMetric(&page, m)
			}
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(page.Bytes()) // the reader's connection is the reader's business
	})
}

// exposeMetric writes one metric: a counter or a histogram.
func exposeMetric(w io.Writer, m metricdata.Metrics) {
	name := strings.ReplaceAll(m.Name, ".", "_")
	head := func(name, kind string) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, m.Description, name, kind)
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		name += "_total"
		head(name, "counter")
		for _, p := range data.DataPoints {
			fmt.Fprintf(w, "%s%s %d\n", name, labels(p.Attributes, ""), p.Value)
		}
	case metricdata.Histogram[float64]:
		name += "_seconds"
		head(name, "histogram")
		for _, p := range data.DataPoints {
			exposeHistogram(w, name, p)
		}
	}
}

// exposeHistogram writes the buckets of a histogram, each with those below it.
func exposeHistogram(w io.Writer, name string, p metricdata.HistogramDataPoint[float64]) {
	below := uint64(0)
	for i, bound := range p.Bounds {
		below += p.BucketCounts[i]
		fmt.Fprintf(w, "%s_bucket%s %d\n", name, labels(p.Attributes, number(bound)), below)
	}
	fmt.Fprintf(w, "%s_bucket%s %d\n", name, labels(p.Attributes, "+Inf"), p.Count)
	fmt.Fprintf(w, "%s_sum%s %s\n%s_count%s %d\n", name, labels(p.Attributes, ""), number(p.Sum), name, labels(p.Attributes, ""), p.Count)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// escaped is the text of a label's value.
var escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labels formats attributes, and le if it is not "".
func labels(attributes attribute.Set, le string) string {
	var pairs []string
	for _, a := range attributes.ToSlice() {
		pairs = append(pairs, fmt.Sprintf(`%s="%s"`, strings.ReplaceAll(string(a.Key), ".", "_"), escaped.Replace(a.Value.String())))
	}
	if le != "" {
		pairs = append(pairs, `le="`+le+`"`)
	}
	if len(pairs) == 0 {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
}
