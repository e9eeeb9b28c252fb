// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/kazahana-db/kazahana/election/electionotel"
	"github.com/kazahana-db/kazahana/idgen/idgenotel"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/embedded/embeddedotel"
	"github.com/kazahana-db/kazahana/lease/leaseotel"
	"github.com/kazahana-db/kazahana/lease/memory"
	"github.com/kazahana-db/kazahana/persistable/persistableotel"
	"github.com/kazahana-db/kazahana/placement/placementotel"
)

// exportedMetrics returns the names that Prometheus gets: of instruments that the packages create, as OpenTelemetry's exporter
// names them, and of those that the programs describe themselves.
func exportedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	provider := recorder{names: names}
	engine, err := embedded.OpenMemory()
	check(t, err)
	t.Cleanup(func() { _ = engine.Close() })
	leases, err := memory.New(memory.Options{})
	check(t, err)
	_, err = idgenotel.NewObserver(provider)
	check(t, err)
	_, err = leaseotel.Instrument(leases, provider)
	check(t, err)
	_, err = electionotel.NewObserver(provider)
	check(t, err)
	_, err = persistableotel.NewTracer(tracenoop.NewTracerProvider(), provider)
	check(t, err)
	_, err = placementotel.NewCounter(provider)
	check(t, err)
	_, err = embeddedotel.Observe(provider, engine)
	check(t, err)
	for _, found := range source(t, regexp.MustCompile(`prometheus\.NewDesc\("([a-z_]+)"`)) {
		add(names, found[1])
	}
	return names
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add adds a name, with those of the series of a histogram of seconds.
func add(names map[string]bool, name string) {
	names[name] = true
	if strings.HasSuffix(name, "_seconds") {
		addHistogram(names, name)
	}
}

func addHistogram(names map[string]bool, name string) {
	for _, series := range []string{"_bucket", "_sum", "_count"} {
		names[name+series] = true
	}
}

// exportedLabels returns the labels that metrics may have, with those of Prometheus itself.
func exportedLabels(t *testing.T) map[string]bool {
	t.Helper()
	labels := map[string]bool{"instance": true, "job": true, "le": true}
	for _, found := range source(t, regexp.MustCompile(`attribute\.(?:Key|String)\("([a-z_.]+)"`)) {
		labels[strings.ReplaceAll(found[1], ".", "_")] = true
	}
	for _, found := range source(t, regexp.MustCompile(`(?s)prometheus\.NewDesc\("[^)]*?\[\]string\{([^}]*)\}`)) {
		for label := range strings.SplitSeq(found[1], ",") {
			labels[strings.Trim(label, "\" \t\n")] = true
		}
	}
	return labels
}

// source finds a pattern in the code of the repository, but for tests.
func source(t *testing.T, pattern *regexp.Regexp) (all [][]string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "examples" || entry.Name() == "node_modules") {
			return orSkip(err)
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		all = append(all, pattern.FindAllStringSubmatch(string(text), -1)...)
		return err
	})
	check(t, err)
	return all
}

func orSkip(err error) error {
	if err == nil {
		return filepath.SkipDir
	}
	return err
}

// recorder is a provider that records the instruments that are created, by Prometheus' names for them.
type recorder struct {
	noop.MeterProvider
	names map[string]bool
}

func (r recorder) Meter(string, ...metric.MeterOption) metric.Meter {
	return recordingMeter{names: r.names}
}

type recordingMeter struct {
	noop.Meter
	names map[string]bool
}

// suffixes are those that units have in the names of metrics; a unit in braces has none.
var suffixes = map[string]string{"s": "_seconds", "By": "_bytes"}

func (r recordingMeter) record(name, unit, suffix string) string {
	full := strings.ReplaceAll(name, ".", "_") + suffixes[unit] + suffix
	r.names[full] = true
	return full
}

func (r recordingMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return noop.Registration{}, nil
}

func (r recordingMeter) Int64Counter(name string, o ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	c := metric.NewInt64CounterConfig(o...)
	r.record(name, c.Unit(), "_total")
	return noop.Int64Counter{}, nil
}

func (r recordingMeter) Int64Histogram(name string, o ...metric.Int64HistogramOption) (metric.Int64Histogram, error) {
	c := metric.NewInt64HistogramConfig(o...)
	addHistogram(r.names, r.record(name, c.Unit(), ""))
	return noop.Int64Histogram{}, nil
}

func (r recordingMeter) Float64Histogram(name string, o ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	c := metric.NewFloat64HistogramConfig(o...)
	addHistogram(r.names, r.record(name, c.Unit(), ""))
	return noop.Float64Histogram{}, nil
}

func (r recordingMeter) Int64ObservableCounter(name string, o ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	c := metric.NewInt64ObservableCounterConfig(o...)
	r.record(name, c.Unit(), "_total")
	return noop.Int64ObservableCounter{}, nil
}

func (r recordingMeter) Int64ObservableUpDownCounter(name string, o ...metric.Int64ObservableUpDownCounterOption) (metric.Int64ObservableUpDownCounter, error) {
	c := metric.NewInt64ObservableUpDownCounterConfig(o...)
	r.record(name, c.Unit(), "")
	return noop.Int64ObservableUpDownCounter{}, nil
}

func (r recordingMeter) Int64ObservableGauge(name string, o ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	c := metric.NewInt64ObservableGaugeConfig(o...)
	r.record(name, c.Unit(), "")
	return noop.Int64ObservableGauge{}, nil
}

func (r recordingMeter) Float64ObservableCounter(name string, o ...metric.Float64ObservableCounterOption) (metric.Float64ObservableCounter, error) {
	c := metric.NewFloat64ObservableCounterConfig(o...)
	r.record(name, c.Unit(), "_total")
	return noop.Float64ObservableCounter{}, nil
}

func (r recordingMeter) Float64ObservableUpDownCounter(name string, o ...metric.Float64ObservableUpDownCounterOption) (metric.Float64ObservableUpDownCounter, error) {
	c := metric.NewFloat64ObservableUpDownCounterConfig(o...)
	r.record(name, c.Unit(), "")
	return noop.Float64ObservableUpDownCounter{}, nil
}

func (r recordingMeter) Float64ObservableGauge(name string, o ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	c := metric.NewFloat64ObservableGaugeConfig(o...)
	r.record(name, c.Unit(), "")
	return noop.Float64ObservableGauge{}, nil
}
