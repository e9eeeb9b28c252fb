// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
)

// TestOff: without a collector, and when the environment says so, there are no traces; a wrong
// variable does not keep the program from starting then.
func TestOff(t *testing.T) {
	for name, env := range map[string][]string{
		"nothing":           nil,
		"no collector":      {"OTEL_SERVICE_NAME=a", "OTEL_TRACES_SAMPLER=wrong"},
		"SDK off":           {"OTEL_SDK_DISABLED=TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT=wrong"},
		"traces off":        {"OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"},
		"metrics only":      {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://localhost:4318"},
		"an empty endpoint": {"OTEL_EXPORTER_OTLP_ENDPOINT= "},
	} {
		t.Run(name, func(t *testing.T) {
			traces, err := startWith(t, env...)
			if traces != nil || err != nil {
				t.Errorf("%v, %v", traces, err)
			}
		})
	}
}

// TestFaults: each wrong variable is refused by name, and no value is shown.
func TestFaults(t *testing.T) {
	for variable, values := range map[string][]string{
		"OTEL_SDK_DISABLED":                     {"yes"},
		"OTEL_TRACES_EXPORTER":                  {"console", "otlp,console", "OTLP"},
		"OTEL_EXPORTER_OTLP_ENDPOINT":           {"secret", "localhost:4318", "https://", "ftp://secret/", "http://a:secret@b:x/", "http://a/#secret"},
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":    {"unix:///secret"},
		"OTEL_EXPORTER_OTLP_PROTOCOL":           {"grpc", "http/json"},
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL":    {"grpc"},
		"OTEL_EXPORTER_OTLP_COMPRESSION":        {"zstd"},
		"OTEL_EXPORTER_OTLP_TIMEOUT":            {"0", "-1", "10s", "600001", "99999999999999999999"},
		"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT":     {"1.5"},
		"OTEL_EXPORTER_OTLP_HEADERS":            {"secret", "=secret", "a=%secret", "a b=secret", "a=secret%0a"},
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS":     {"a=1,secret"},
		"OTEL_EXPORTER_OTLP_CERTIFICATE":        {"none.pem", "environment_test.go"},
		"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": {"none.pem"}, // and no key
		"OTEL_RESOURCE_ATTRIBUTES":              {"secret", "a=%zz"},
		"OTEL_BSP_SCHEDULE_DELAY":               {"0", "5s"},
		"OTEL_BSP_EXPORT_TIMEOUT":               {"-1"},
		"OTEL_BSP_MAX_QUEUE_SIZE":               {"2000000"},
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE":        {"many"},
		"OTEL_TRACES_SAMPLER":                   {"sometimes", "jaeger_remote"},
		"OTEL_TRACES_SAMPLER_ARG":               {"2", "-0.1", "NaN", "half"},
		"OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": {"/none.pem"},
		"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY":  {},
		"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": {"br"},
	} {
		for _, value := range values {
			t.Run(variable+"="+strings.ReplaceAll(value, "/", "_"), func(t *testing.T) {
				_, err := startWith(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "OTEL_TRACES_SAMPLER=traceidratio", variable+"="+value)
				var faults *settings.Error
				if !errors.As(err, &faults) || len(faults.Faults) != 1 || faults.Faults[0].Key != variable || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// TestAllFaults: all faults come at once.
func TestAllFaults(t *testing.T) {
	_, err := startWith(t, "OTEL_EXPORTER_OTLP_ENDPOINT=x", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_SAMPLER=x")
	var faults *settings.Error
	if !errors.As(err, &faults) || len(faults.Faults) != 3 {
		t.Errorf("%v", err)
	}
}

// TestSampler: the environment's sampler decides.
func TestSampler(t *testing.T) {
	for sampler, want := range map[string]bool{"": true, "always_on": true, "always_off": false, "parentbased_always_off": true, "traceidratio": false} {
		t.Run(sampler, func(t *testing.T) {
			traces, err := startWith(t, "OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER="+sampler, "OTEL_TRACES_SAMPLER_ARG=0")
			if err != nil {
				t.Fatal(err)
			}
			if got := makeSpan(traces).IsSampled(); got != want { // its parent is sampled
				t.Errorf("sampled: %v", got)
			}
			traces.exporter.cutOff() // there is no collector
			traces.Close(t.Context())
		})
	}
}

// startWith starts traces with variables of OpenTelemetry, and no others.
func startWith(t *testing.T, env ...string) (*Traces, error) {
	clearEnvironment(t)
	for _, text := range env {
		name, value, _ := strings.Cut(text, "=")
		t.Setenv(name, value)
	}
	return Start(t.Context(), "idbuilder", "1", slog.New(slog.DiscardHandler))
}
