// SPDX-License-Identifier: Apache-2.0

package persistableotel_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistableotel"
)

func Example() {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter() // a program has another exporter
	tracer, err := persistableotel.NewTracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), noop.NewMeterProvider())
	if err != nil {
		panic(err)
	}
	engine, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	defer engine.Close()
	db, err := persistable.Open(ctx, engine, persistable.Options{Tracer: tracer})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	err = db.ReadTransact(ctx, func(tx persistable.Tx) error { return nil }) // here would be reads of stores
	if err != nil {
		panic(err)
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name)
	}
	// Output: ReadTransact
}
