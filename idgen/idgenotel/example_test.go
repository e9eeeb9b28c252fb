// SPDX-License-Identifier: Apache-2.0

package idgenotel_test

import (
	"context"
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/idgenotel"
)

func Example() {
	reader := sdk.NewManualReader() // a program has an exporter here
	observer, err := idgenotel.NewObserver(sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		panic(err)
	}
	ids := idgen.Must(idgen.NewClient(idgen.Options{Observe: observer.Observe})) // standalone: every ID is a fallback ID
	if _, err := ids.NextN(context.Background(), make([]idgen.ID, 100)); err != nil {
		panic(err)
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		panic(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
			if kind, ok := p.Attributes.Value("kazahana.id.kind"); ok {
				fmt.Println(m.Name, kind.String(), p.Value)
			}
		}
	}
	// Unordered output:
	// kazahana.id.generated leased 0
	// kazahana.id.generated cached_fallback 0
	// kazahana.id.generated random_fallback 100
}
