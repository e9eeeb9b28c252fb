// SPDX-License-Identifier: Apache-2.0

package placementotel_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/placementotel"
)

// TestCount counts events of several goroutines: each is counted once, by its kind and that of its actor.
func TestCount(t *testing.T) {
	reader := sdk.NewManualReader()
	counter, err := placementotel.NewCounter(sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		t.Fatal(err)
	}
	var hosts sync.WaitGroup
	for range 3 {
		hosts.Go(func() {
			counter.Count(placement.Event{Kind: placement.Activated, Key: placement.Key{Kind: "account", ID: "alice"}})
			counter.Count(placement.Event{Kind: placement.Activated, Key: placement.Key{Kind: "account", ID: "bob"}})
			counter.Count(placement.Event{Kind: placement.Lost, Key: placement.Key{Kind: "report", ID: "7"}})
			counter.Count(placement.Event{Kind: placement.TopologyChanged})
		})
	}
	hosts.Wait()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
			event, _ := p.Attributes.Value("kazahana.placement.event")
			kind, _ := p.Attributes.Value("kazahana.placement.kind")
			got[m.Name+" "+event.AsString()+" "+kind.AsString()] += p.Value
		}
	}
	want := map[string]int64{
		"kazahana.placement.events Activated account": 6, "kazahana.placement.events Lost report": 3, "kazahana.placement.events TopologyChanged ": 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// noCounterProvider is a provider that likes no counter.
type noCounterProvider struct{ noop.MeterProvider }

func (noCounterProvider) Meter(string, ...metric.MeterOption) metric.Meter { return noCounters{} }

type noCounters struct{ noop.Meter }

var errRefused = errors.New("refused")

func (noCounters) Int64Counter(string, ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return nil, errRefused
}

func TestProviderRefuses(t *testing.T) {
	if _, err := placementotel.NewCounter(noCounterProvider{}); !errors.Is(err, errRefused) {
		t.Errorf("the error is %v", err)
	}
}
