// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestHostileTextStaysTheSameInJSON: escaping does not change the value of a text.
func TestHostileTextStaysTheSameInJSON(t *testing.T) {
	const name = "\x1b[2J\u202e\U000e0001\u009b\n\t\x7f"
	var out bytes.Buffer
	c := &shell.Console{Streams: shell.Streams{Out: shell.Escaping(&out, new(true))}, JSON: true}
	if err := c.Write(leaseService{name}); err != nil {
		t.Fatal(err)
	}
	var got leaseService
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Service != name {
		t.Errorf("%q became %q, %v by way of %s", name, got.Service, err, &out)
	}
	if strings.ContainsFunc(strings.TrimSuffix(out.String(), "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("JSON has characters that do not print: %q", &out)
	}
}

// TestLogOfRefusedRequests checks that texts which are refused for their length do not fill
// the log.
func TestLogOfRefusedRequests(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	l := loggingProvider{LeaseProvider: provider, log: slog.New(slog.NewTextHandler(&text, nil))}
	long := strings.Repeat("x", 10_000)
	for _, req := range []idgen.AcquireRequest{
		{Meta: map[string]string{"host": long}}, {Meta: map[string]string{long: ""}}, {ServiceID: long}, {RequestKey: long},
	} {
		text.Reset()
		if leases, err := l.Acquire(t.Context(), req); err == nil {
			t.Fatalf("granted %+v", leases)
		}
		if n := text.Len(); n == 0 || n > 500 || !strings.Contains(text.String(), "refused") {
			t.Errorf("%d bytes are logged: %.300s", n, text.String())
		}
	}
	listed, err := memory.New(memory.Options{Server: lease.Options{OnlyListed: true}})
	if err != nil {
		t.Fatal(err)
	}
	text.Reset()
	unknown := idgen.AcquireRequest{ServiceID: "made-up", Meta: map[string]string{"host": long}}
	if _, err := (loggingProvider{LeaseProvider: listed, log: l.log}).Acquire(t.Context(), unknown); err == nil || text.Len() > 500 || !strings.Contains(text.String(), "made-up") {
		t.Errorf("a service that there is not: %v, logged %d bytes: %.300s", err, text.Len(), text.String())
	}
	text.Reset()
	if err := l.Release(t.Context(), idgen.ReleaseRequest{ServiceID: long, ID: 1}); err == nil || text.Len() == 0 || text.Len() > 500 {
		t.Errorf("release: %v, logged %d bytes", err, text.Len())
	}
	text.Reset()
	small := memory.Options{Server: lease.Options{MaxLeases: 1, Default: lease.ServiceConfig{Layout: idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 20, TimestampBits: 41, MachineBits: 2, SequenceBits: 1}}}}
	if provider, err = memory.New(small); err != nil {
		t.Fatal(err)
	}
	l.LeaseProvider = provider
	req := idgen.AcquireRequest{Throughput: 4, Meta: map[string]string{"host": "a-host"}}
	if leases, err := l.Acquire(t.Context(), req); err == nil {
		t.Fatalf("granted %+v", leases)
	}
	if !strings.Contains(text.String(), "a-host") {
		t.Errorf("a refusal for lack of room does not name the holder: %s", text.String())
	}
}

// TestServerLogsHostileText serves a client with a hostile description.
func TestServerLogsHostileText(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, asJSON := range []bool{false, true} {
		var text bytes.Buffer
		c := &shell.Console{Streams: shell.Streams{Err: shell.Escaping(&text, &asJSON)}, JSON: asJSON}
		l := loggingProvider{LeaseProvider: provider, log: c.Logger()}
		for _, req := range []idgen.AcquireRequest{
			{Meta: map[string]string{evil: evil}}, {ServiceID: evil}, {ServiceID: "a", Meta: map[string]string{"host": "b"}},
		} {
			_, _ = l.Acquire(t.Context(), req)
			_ = l.Release(t.Context(), idgen.ReleaseRequest{ServiceID: req.ServiceID, ID: 1, SequenceBits: 8})
		}
		checkHarmless(t, []string{"logs", fmt.Sprint(asJSON)}, text.String(), asJSON)
	}
}

// TestLogOfHolders: a holder's description cannot look like that of another holder.
func TestLogOfHolders(t *testing.T) {
	meta := map[string]string{"host": "a task:b", "n": "1"}
	for _, test := range []struct {
		json bool
		want string
	}{{false, `holder="host=\"a task:b\" n=1"`}, {true, `"holder":{"host":"a task:b","n":"1"}`}} {
		var text bytes.Buffer
		c := &shell.Console{Streams: shell.Streams{Err: shell.Escaping(&text, &test.json)}, JSON: test.json}
		c.Logger().Info("granted", "holder", leaseHolder(meta))
		if !strings.Contains(text.String(), test.want) {
			t.Errorf("logged %s, want %s", &text, test.want)
		}
	}
}

func TestMetricsHandler(t *testing.T) {
	reader := sdk.NewManualReader()
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
	granted, err := meter.Int64Counter("kazahana.lease.granted", metric.WithDescription("Leases granted."))
	if err != nil {
		t.Fatal(err)
	}
	duration, err := meter.Float64Histogram("kazahana.lease.duration", metric.WithUnit("s"), metric.WithDescription("Time of calls."),
		metric.WithExplicitBucketBoundaries(0.25, 1))
	if err != nil {
		t.Fatal(err)
	}
	granted.Add(t.Context(), 3, metric.WithAttributes(attribute.String("kazahana.service", "a\"b\\c\nd")))
	for _, seconds := range []float64{0.125, 0.5, 0.5, 8} {
		duration.Record(t.Context(), seconds)
	}
	w := httptest.NewRecorder()
	metricsHandler(reader, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	want := `# HELP kazahana_lease_duration_seconds Time of calls.
# TYPE kazahana_lease_duration_seconds histogram
kazahana_lease_duration_seconds_bucket{le="0.25"} 1
kazahana_lease_duration_seconds_bucket{le="1"} 3
kazahana_lease_duration_seconds_bucket{le="+Inf"} 4
kazahana_lease_duration_seconds_sum 9.125
kazahana_lease_duration_seconds_count 4
# HELP kazahana_lease_granted_total Leases granted.
# TYPE kazahana_lease_granted_total counter
kazahana_lease_granted_total{kazahana_service="a\"b\\c\nd"} 3
`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

// listFunc is a lister with another List.
type listFunc struct {
	leasehome.Lister
	list func(context.Context, string, lease.ListOptions) (lease.Page, error)
}

func (l listFunc) List(ctx context.Context, service string, o lease.ListOptions) (lease.Page, error) {
	return l.list(ctx, service, o)
}

// TestPopulation checks the counts of leases and positions, and that not each scrape lists the
// store.
func TestPopulation(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	acquire := func(service string, throughput int) {
		if _, err := provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service, Throughput: throughput}); err != nil {
			t.Fatal(err)
		}
	}
	acquire("a", 1)
	acquire("a", 1000)
	acquire("b", 1)
	now := time.Now()
	p := &population{home: &leasehome.Home{Lister: provider}, now: func() time.Time { return now }}
	got, err := p.countLeases()
	if err != nil || len(got) != 2 || got["a"] != (active{2, 1280}) || got["b"] != (active{1, 256}) {
		t.Errorf("counted %v, %v", got, err)
	}
	calls := 0
	p.home.Lister = listFunc{provider, func(ctx context.Context, service string, o lease.ListOptions) (lease.Page, error) {
		calls++
		return provider.List(ctx, service, o)
	}}
	for range 3 {
		metrics := make(chan prometheus.Metric, 10)
		p.Collect(metrics)
		if len(metrics) != 4 {
			t.Errorf("%d metrics, want 4", len(metrics))
		}
		now = now.Add(countEvery / 2)
	}
	if calls != 4 {
		t.Errorf("%d listings, want those of two services at the beginning and after %v", calls, countEvery)
	}
}

// TestPopulationPassesOver: a block and a service that cannot be read, of whatever version, leave the counts
// of the others.
func TestPopulationPassesOver(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"a", "b", "c"} {
		if _, err := provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service}); err != nil {
			t.Fatal(err)
		}
	}
	newer := fmt.Errorf("key x: %w", lease.ErrNewer)
	list := func(ctx context.Context, service string, o lease.ListOptions) (lease.Page, error) {
		page, err := provider.List(ctx, service, o)
		switch service {
		case "a":
			return page, fmt.Errorf("list: %w", errors.Join(newer, &refusal.CorruptError{Cause: errors.New("why")}))
		case "b":
			return lease.Page{}, fmt.Errorf("list: %w", newer)
		}
		return page, err
	}
	p := &population{home: &leasehome.Home{Lister: listFunc{provider, list}}, now: time.Now}
	got, err := p.countLeases()
	if len(got) != 3 || got["a"].leases != 1 || got["c"].leases != 1 || !errors.Is(err, lease.ErrNewer) || !errors.Is(err, lease.ErrCorrupt) {
		t.Errorf("counted %v, %v", got, err)
	}
	metrics := make(chan prometheus.Metric, 10)
	p.Collect(metrics)
	if len(metrics) != 7 {
		t.Errorf("%d metrics, want two of each service, and an error", len(metrics))
	}
}
