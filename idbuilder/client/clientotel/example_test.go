// SPDX-License-Identifier: Apache-2.0

package clientotel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"go.opentelemetry.io/otel/attribute"
	metrics "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	traces "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/idbuilder/client/clientotel"
)

func Example() {
	parents := make(chan string, 100)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("Traceparent")
		_, _ = io.WriteString(w, `{"code":0,"message":"success","data":{"id":[7,8,9,10]}}`)
	}))
	defer service.Close()
	reader, spans := metrics.NewManualReader(), tracetest.NewSpanRecorder() // a program has exporters here
	meters, tracers := metrics.NewMeterProvider(metrics.WithReader(reader)), traces.NewTracerProvider(traces.WithSpanProcessor(spans))

	transport, err := clientotel.NewTransport(nil, tracers, meters)
	if err != nil {
		panic(err)
	}
	ids, err := client.New(client.Options{URLs: []string{service.URL}, Token: "a-token", HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		panic(err)
	}
	if _, err := clientotel.Observe(ids, meters); err != nil {
		panic(err)
	}
	id, err := ids.Increment("orders").Next(context.Background())
	ids.Close()
	fmt.Println(id, err)

	parent := <-parents // of the first request; more are fetched ahead
	for _, span := range spans.Ended() {
		if parent[3:35] == span.SpanContext().TraceID().String() {
			fmt.Println(span.Name(), span.SpanKind())
		}
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		panic(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, point := range d.DataPoints {
				if status, ok := point.Attributes.Value(attribute.Key("http.response.status_code")); ok {
					fmt.Println(m.Name, point.Count > 0, status.AsInt64())
				}
			}
		case metricdata.Sum[int64]:
			if m.Name == "idbuilder.client.waits" {
				fmt.Println(m.Name, d.DataPoints[0].Value)
			}
		}
	}
	// Output:
	// 7 <nil>
	// GET /v1/id/increment client
	// http.client.request.duration true 200
	// idbuilder.client.waits 1
}
