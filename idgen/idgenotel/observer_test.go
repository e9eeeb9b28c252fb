// SPDX-License-Identifier: Apache-2.0

package idgenotel_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/idgen/idgenotel"
)

// newObserver returns an observer and what reads it: "name{attributes}" to
// values.
func newObserver(t *testing.T) (*idgenotel.Observer, func() map[string]int64) {
	t.Helper()
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	observer, err := idgenotel.NewObserver(provider)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return observer, func() map[string]int64 {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		return values(t, all)
	}
}

func values(t *testing.T, all metricdata.ResourceMetrics) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Unit == "" || m.Description == "" {
				t.Errorf("%s has no unit or description", m.Name)
			}
			data, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				t.Fatalf("%s is a %T", m.Name, m.Data)
			}
			for _, p := range data.DataPoints {
				got[m.Name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = p.Value
			}
		}
	}
	return got
}

// numbered returns metrics with the values from, from+1, … in the order of the fields.
func numbered(service string, from int64) idgen.Metrics {
	m := idgen.Metrics{ServiceID: service}
	v := reflect.ValueOf(&m).Elem()
	for i := 1; i < v.NumField(); i++ {
		v.Field(i).SetInt(from)
		from++
	}
	return m
}

// TestEveryMetricIsReported gives each field a value of its own: all of them
// arrive, under the right name.
func TestEveryMetricIsReported(t *testing.T) {
	observer, read := newObserver(t)
	observer.Observe(func() idgen.Metrics { return numbered("payments", 1) })
	want := map[string]int64{
		"kazahana.lease.active{kazahana.service=payments}":                                  1,
		"kazahana.id.throughput{kazahana.service=payments}":                                 2,
		"kazahana.id.generated{kazahana.id.kind=leased,kazahana.service=payments}":          3,
		"kazahana.id.generated{kazahana.id.kind=cached_fallback,kazahana.service=payments}": 4,
		"kazahana.id.generated{kazahana.id.kind=random_fallback,kazahana.service=payments}": 5,
		"kazahana.id.exhausted{kazahana.service=payments}":                                  6,
		"kazahana.lease.acquires{kazahana.service=payments,outcome=ok}":                     7,
		"kazahana.lease.acquires{kazahana.service=payments,outcome=failed}":                 8,
		"kazahana.lease.rejected{kazahana.service=payments}":                                9,
		"kazahana.lease.releases{kazahana.service=payments,outcome=ok}":                     10,
		"kazahana.lease.releases{kazahana.service=payments,outcome=failed}":                 11,
		"kazahana.clock.jumps{kazahana.clock.direction=backward,kazahana.service=payments}": 12,
		"kazahana.clock.jumps{kazahana.clock.direction=forward,kazahana.service=payments}":  13,
		"kazahana.lease.positions{kazahana.service=payments}":                               14,
	}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	if fields := reflect.TypeFor[idgen.Metrics]().NumField(); fields != len(want)+1 {
		t.Errorf("Metrics has %d fields; %d instruments and the service report them", fields, len(want))
	}
}

// TestClientsAreAddedUp checks that the clients of a service are one sum, which
// does not go back when one of them ends, while what is in use now does.
func TestClientsAreAddedUp(t *testing.T) {
	observer, read := newObserver(t)
	first := numbered("a", 100)
	forget := observer.Observe(func() idgen.Metrics { return first })
	observer.Observe(func() idgen.Metrics { return numbered("a", 1000) })
	observer.Observe(func() idgen.Metrics { return numbered("", 1) })

	const leased = "kazahana.id.generated{kazahana.id.kind=leased,kazahana.service=a}"
	const active = "kazahana.lease.active{kazahana.service=a}"
	check := func(when string, wantLeased, wantActive int64) {
		t.Helper()
		got := read()
		if got[leased] != wantLeased || got[active] != wantActive {
			t.Errorf("%s: %d IDs and %d leases, want %d and %d", when, got[leased], got[active], wantLeased, wantActive)
		}
	}
	check("two clients", 102+1002, 100+1000)
	if got := read()["kazahana.lease.active{kazahana.service=default}"]; got != 1 {
		t.Errorf("the service without a name has %d leases, want 1", got)
	}
	first.LeasedIDs++
	forget()
	check("one of them shut down", 103+1002, 1000)
	forget()
	check("and forgotten twice", 103+1002, 1000)
}

func TestClose(t *testing.T) {
	observer, read := newObserver(t)
	observer.Observe(func() idgen.Metrics { return numbered("a", 1) })
	if err := observer.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got) != 0 {
		t.Errorf("still reported: %v", got)
	}
}

// TestConcurrentUse is for the race detector.
func TestConcurrentUse(t *testing.T) {
	observer, read := newObserver(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				observer.Observe(func() idgen.Metrics { return numbered(fmt.Sprint(i%2), 1) })()
			}
		})
	}
	for range 20 {
		read()
	}
	wg.Wait()
	total := int64(0)
	for name, value := range read() {
		if strings.HasPrefix(name, "kazahana.id.exhausted") {
			total += value
		}
	}
	if total != 8*50*6 {
		t.Errorf("%d milliseconds exhausted, want %d", total, 8*50*6)
	}
}
