// SPDX-License-Identifier: Apache-2.0

package clientotel_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	traces "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kazahana-db/kazahana/idbuilder/client/clientotel"
)

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSpans: the span of a request is a child of the caller's, records failures, and has
// neither the token nor the query. The caller's request is not changed.
func TestSpans(t *testing.T) {
	for _, c := range []struct {
		status int
		err    error
		want   codes.Code
	}{{200, nil, codes.Unset}, {503, nil, codes.Error}, {0, errors.New("connection refused"), codes.Error}} {
		spans := tracetest.NewSpanRecorder()
		tracers := traces.NewTracerProvider(traces.WithSpanProcessor(spans))
		transport, err := clientotel.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Traceparent") == "" {
				t.Error("the request has no traceparent")
			}
			return &http.Response{StatusCode: c.status}, c.err
		}), tracers, noop.NewMeterProvider())
		if err != nil {
			t.Fatal(err)
		}
		ctx, parent := tracers.Tracer("test").Start(t.Context(), "parent")
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://host/v1/id/snowflake?lease_key=hidden-key", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer hidden-token")
		if _, err := transport.RoundTrip(r); !errors.Is(err, c.err) || r.Header.Get("Traceparent") != "" {
			t.Error(err, r.Header)
		}
		span := spans.Ended()[0]
		if span.Parent().SpanID() != parent.SpanContext().SpanID() || span.Status().Code != c.want {
			t.Errorf("status %d: the span is %v, with status %v", c.status, span, span.Status())
		}
		if text := fmt.Sprint(span.Name(), span.Attributes(), span.Status(), span.Events()); strings.Contains(text, "hidden") {
			t.Errorf("the span tells a secret: %s", text)
		}
	}
}
