// SPDX-License-Identifier: Apache-2.0

package electionotel_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/election"
	"github.com/kazahana-db/kazahana/election/electionotel"
	"github.com/kazahana-db/kazahana/internal/enginetest"
)

// newObserver returns an observer and what reads it: "name{attributes}" to values.
func newObserver(t *testing.T) (*electionotel.Observer, func() map[string]float64) {
	t.Helper()
	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	observer, err := electionotel.NewObserver(provider)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return observer, func() map[string]float64 {
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		return values(t, all)
	}
}

func values(t *testing.T, all metricdata.ResourceMetrics) map[string]float64 {
	t.Helper()
	got := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Unit == "" || m.Description == "" {
				t.Errorf("%s has no unit or description", m.Name)
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				note(got, m.Name, data.DataPoints)
			case metricdata.Gauge[int64]:
				note(got, m.Name, data.DataPoints)
			case metricdata.Sum[float64]:
				note(got, m.Name, data.DataPoints)
			default:
				t.Fatalf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return got
}

func note[N int64 | float64](got map[string]float64, name string, points []metricdata.DataPoint[N]) {
	for _, p := range points {
		got[name+"{"+p.Attributes.Encoded(attribute.DefaultEncoder())+"}"] = float64(p.Value)
	}
}

// numbered returns metrics with the numbers, in their order, from, from+1, …
func numbered(name string, from int64) election.Metrics {
	m := election.Metrics{Name: name, Leading: true}
	v := reflect.ValueOf(&m).Elem()
	for i := 2; i < v.NumField(); i++ {
		v.Field(i).SetInt(from)
		from++
	}
	m.Vacant *= time.Second
	m.Terms += 1000 // takeovers are among them
	return m
}

// TestEveryMetricIsReported gives each field a value of its own: all of them arrive,
// under the right name, without what was counted before Run.
func TestEveryMetricIsReported(t *testing.T) {
	observer, read := newObserver(t)
	now := election.Metrics{Name: "job"}
	observer.Observe(func() election.Metrics { return now })
	now = numbered("job", 11)
	want := map[string]float64{
		"kazahana.election.leading{kazahana.election=job}":                                1,
		"kazahana.election.rank{kazahana.election=job}":                                   11,
		"kazahana.election.standbys{kazahana.election=job}":                               12,
		"kazahana.election.terms{kazahana.election=job,kazahana.election.begin=vacancy}":  1013 - 14,
		"kazahana.election.terms{kazahana.election=job,kazahana.election.begin=takeover}": 14,
		"kazahana.election.ended{kazahana.election=job,outcome=deposed}":                  15,
		"kazahana.election.ended{kazahana.election=job,outcome=resigned}":                 16,
		"kazahana.election.renewals{kazahana.election=job,outcome=ok}":                    17,
		"kazahana.election.renewals{kazahana.election=job,outcome=late}":                  18,
		"kazahana.election.renewals{kazahana.election=job,outcome=failed}":                19,
		"kazahana.election.failures{kazahana.election=job}":                               20,
		"kazahana.election.vacant{kazahana.election=job}":                                 21,
	}
	if diff := cmp.Diff(want, read()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
	if fields := reflect.TypeFor[election.Metrics]().NumField(); fields != len(want)+1 {
		t.Errorf("Metrics has %d fields; %d instruments and the name report them", fields, len(want))
	}
}

// TestCandidatesAreAddedUp checks that the candidates of a name are one sum, that its counts do not
// go back when one of them ends, and that a second Run counts nothing twice.
func TestCandidatesAreAddedUp(t *testing.T) {
	observer, read := newObserver(t)
	first, second := election.Metrics{Name: "job"}, election.Metrics{Name: "job"}
	forget := observer.Observe(func() election.Metrics { return first })
	observer.Observe(func() election.Metrics { return second })
	first, second = numbered("job", 10), numbered("job", 100)
	second.Leading = false
	check := func(when string, renewals, leading, rank float64) {
		t.Helper()
		got := read()
		for name, want := range map[string]float64{
			"kazahana.election.renewals{kazahana.election=job,outcome=ok}": renewals,
			"kazahana.election.leading{kazahana.election=job}":             leading,
			"kazahana.election.rank{kazahana.election=job}":                rank,
		} {
			if got[name] != want {
				t.Errorf("%s: %s is %v, want %v", when, name, got[name], want)
			}
		}
	}
	check("two candidates", 16+106, 1, 100)
	first.Renewals++
	forget()
	check("one of them has ended", 17+106, 0, 100)
	forget()
	check("and was forgotten twice", 17+106, 0, 100)
	forget = observer.Observe(func() election.Metrics { return first })
	check("it runs again", 17+106, 1, 100)
	first.Renewals++
	forget()
	check("and has ended again", 18+106, 0, 100)
}

func TestClose(t *testing.T) {
	observer, read := newObserver(t)
	observer.Observe(func() election.Metrics { return numbered("job", 1) })
	if err := observer.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got) != 0 {
		t.Errorf("still reported: %v", got)
	}
}

// TestElection checks what an election reports, while it is read from several goroutines.
func TestElection(t *testing.T) {
	observer, read := newObserver(t)
	db := enginetest.Open(t)
	e, err := election.New(db, "job", election.Options{Observer: observer, Once: true})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 2 {
		err := e.Run(t.Context(), func(context.Context, election.Term) error {
			for range 3 {
				group.Go(func() { read() })
			}
			if got := read()["kazahana.election.leading{kazahana.election=job}"]; got != 1 {
				t.Errorf("%v lead", got)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
	got := read()
	if n := got["kazahana.election.ended{kazahana.election=job,outcome=resigned}"]; n != 2 {
		t.Errorf("%v terms ended: %v", n, got)
	}
}
