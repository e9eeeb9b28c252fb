// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

func TestMetricsHandler(t *testing.T) {
	reader := sdk.NewManualReader()
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
	granted, err := meter.Int64Counter("kazahana.lease.granted", metric.WithDescription("Leases granted."))
	if err != nil {
		t.Fatal(err)
	}
	duration, err := meter.Float64Histogram("kazahana.lease.duration", metric.WithUnit("s"), metric.WithDescription("Time of calls."),
		metric.WithExplicitBucketBoundaries(0.25, 1))
	if err != nil {
		t.Fatal(err)
	}
	granted.Add(t.Context(), 3, metric.WithAttributes(attribute.String("kazahana.service", "a\"b\\c\nd")))
	for _, seconds := range []float64{0.125, 0.5, 0.5, 8} {
		duration.Record(t.Context(), seconds)
	}
	w := httptest.NewRecorder()
	metricsHandler(reader, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	want := `# HELP kazahana_lease_duration_seconds Time of calls.
# TYPE kazahana_lease_duration_seconds histogram
kazahana_lease_duration_seconds_bucket{le="0.25"} 1
kazahana_lease_duration_seconds_bucket{le="1"} 3
kazahana_lease_duration_seconds_bucket{le="+Inf"} 4
kazahana_lease_duration_seconds_sum 9.125
kazahana_lease_duration_seconds_count 4
# HELP kazahana_lease_granted_total Leases granted.
# TYPE kazahana_lease_granted_total counter
kazahana_lease_granted_total{kazahana_service="a\"b\\c\nd"} 3
`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}
