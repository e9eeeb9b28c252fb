// SPDX-License-Identifier: Apache-2.0

package leaseotel_test

import (
	"context"
	"errors"
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/leaseotel"
	"github.com/kazahana-db/kazahana/lease/memory"
)

func Example() {
	provider, err := memory.New(memory.Options{Server: lease.Options{OnlyListed: true, Services: map[string]lease.ServiceConfig{"orders": {}}}})
	if err != nil {
		panic(err)
	}
	reader := sdk.NewManualReader() // a program has an exporter here
	counted, err := leaseotel.Instrument(provider, sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	_, err = counted.Acquire(ctx, idgen.AcquireRequest{ServiceID: "orders"})
	fmt.Println(err)
	_, err = counted.Acquire(ctx, idgen.AcquireRequest{ServiceID: "typo"})
	fmt.Println(errors.Is(err, lease.ErrUnknownService))

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		panic(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if data, ok := m.Data.(metricdata.Sum[int64]); ok {
			fmt.Println(m.Name, data.DataPoints[0].Value)
		}
	}
	// Output:
	// <nil>
	// true
	// kazahana.lease.granted 1
	// kazahana.lease.refused 1
}
