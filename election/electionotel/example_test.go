// SPDX-License-Identifier: Apache-2.0

package electionotel_test

import (
	"context"
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/election/electionotel"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

func Example() {
	ctx := context.Background()
	reader := sdk.NewManualReader() // a program has an exporter here
	observer, err := electionotel.NewObserver(sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		panic(err)
	}
	db, err := embedded.OpenMemory()
	if err != nil {
		panic(err)
	}
	defer db.Close()
	e, err := election.New(db, "invoices", election.Options{Observer: observer, Once: true})
	if err != nil {
		panic(err)
	}
	err = e.Run(ctx, func(context.Context, election.Term) error {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(ctx, &all); err != nil {
			return err
		}
		for _, m := range all.ScopeMetrics[0].Metrics {
			if data, ok := m.Data.(metricdata.Gauge[int64]); ok {
				fmt.Println(m.Name, data.DataPoints[0].Value)
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// kazahana.election.rank 1
	// <nil>
}
