// SPDX-License-Identifier: Apache-2.0

package embeddedotel_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/embedded/embeddedotel"
)

var orders = attribute.String("kazahana.database", "orders")

// collect returns the values by the names of instruments, with a slash and the outcome where there is one.
func collect(t *testing.T, reader *sdk.ManualReader) (values map[string]float64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values = map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			var points []metricdata.DataPoint[float64]
			switch data := m.Data.(type) {
			case metricdata.Sum[float64]:
				points = data.DataPoints
			case metricdata.Gauge[float64]:
				points = data.DataPoints
			}
			for _, p := range points {
				name := m.Name
				if outcome, ok := p.Attributes.Value("outcome"); ok {
					name += "/" + outcome.AsString()
				}
				if database, _ := p.Attributes.Value("kazahana.database"); database.AsString() != "orders" {
					t.Errorf("%s has the attributes %v", name, p.Attributes.ToSlice())
				}
				values[name] = p.Value
			}
		}
	}
	return values
}

func open(t *testing.T) *embedded.Database {
	t.Helper()
	db, err := embedded.Open(filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func observe(t *testing.T, db *embedded.Database) (*sdk.ManualReader, metric.Registration) {
	t.Helper()
	reader := sdk.NewManualReader()
	registration, err := embeddedotel.Observe(sdk.NewMeterProvider(sdk.WithReader(reader)), db, orders)
	if err != nil {
		t.Fatal(err)
	}
	return reader, registration
}

// conflict lets two transactions read a key and write it: the second one fails.
func conflict(t *testing.T, db *embedded.Database) {
	t.Helper()
	key := []byte("key")
	var both []kv.Transaction
	for range 2 {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Get(key).Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		tx.Set(key, []byte("value"))
		both = append(both, tx)
	}
	if err := both[0].Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := both[1].Commit(t.Context()); !kv.IsConflict(err) {
		t.Fatalf("the second commit: %v", err)
	}
}

func TestObserve(t *testing.T) {
	db := open(t)
	reader, registration := observe(t, db)
	conflict(t, db)
	if _, err := db.Backup(t.Context(), filepath.Join(t.TempDir(), "backup")); err != nil {
		t.Fatal(err)
	}
	got, m := collect(t, reader), db.Metrics()
	for name, want := range map[string]float64{
		"kazahana.engine.transactions/committed": 1, "kazahana.engine.transactions/conflict": 1, "kazahana.engine.transactions/failed": 0,
		"kazahana.engine.batches": float64(m.BatchSize.Count), "kazahana.engine.syncs": float64(m.Sync.Count), "kazahana.engine.sync.time": m.Sync.Sum.Seconds(),
		"kazahana.engine.window": float64(m.WindowBytes), "kazahana.engine.window.limit": float64(m.WindowLimit), "kazahana.engine.log": float64(m.LogBytes),
		"kazahana.engine.base": float64(m.BaseBytes), "kazahana.engine.backups": 1, "kazahana.engine.fault": 0,
	} {
		if got[name] != want {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
	for _, name := range []string{"kazahana.engine.syncs", "kazahana.engine.sync.time", "kazahana.engine.window", "kazahana.engine.window.limit", "kazahana.engine.log"} {
		if got[name] <= 0 {
			t.Errorf("%s is %g", name, got[name])
		}
	}
	if err := registration.Unregister(); err != nil {
		t.Fatal(err)
	}
	if left := collect(t, reader); len(left) > 0 {
		t.Errorf("after the end there is %v", left)
	}
}

// TestDocumented compares the instruments with those that the package's comment lists.
func TestDocumented(t *testing.T) {
	source, err := os.ReadFile("observe.go")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, found := range regexp.MustCompile(`(?m)^//\t(kazahana\.engine\.[a-z.]+) +(?:counter|up-down|gauge) `).FindAllSubmatch(source, -1) {
		documented = append(documented, string(found[1]))
	}
	slices.Sort(documented)
	reader, _ := observe(t, open(t))
	names := map[string]bool{}
	for name := range collect(t, reader) {
		name, _, _ = strings.Cut(name, "/")
		names[name] = true
	}
	if diff := cmp.Diff(documented, slices.Sorted(maps.Keys(names))); diff != "" {
		t.Error(diff)
	}
}

// noGaugeProvider is a provider that likes no gauge.
type noGaugeProvider struct{ noop.MeterProvider }

func (noGaugeProvider) Meter(string, ...metric.MeterOption) metric.Meter { return noGauges{} }

type noGauges struct{ noop.Meter }

var errRefused = errors.New("refused")

func (noGauges) Float64ObservableGauge(string, ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return nil, errRefused
}

func TestProviderRefuses(t *testing.T) {
	if _, err := embeddedotel.Observe(noGaugeProvider{}, open(t)); !errors.Is(err, errRefused) {
		t.Errorf("the error is %v", err)
	}
}
