// SPDX-License-Identifier: Apache-2.0

package persistableotel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistableotel"
	"github.com/kazahana-db/kazahana/tuple"
)

// recorder has what was reported.
type recorder struct {
	*persistableotel.Tracer
	spans   *tracetest.InMemoryExporter
	metrics *sdkmetric.ManualReader
}

func newRecorder(t *testing.T) recorder {
	t.Helper()
	r := recorder{spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
	var err error
	r.Tracer, err = persistableotel.NewTracer(
		sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans)), sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.metrics)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// texts are attributes as key=value, in order.
func texts(list []attribute.KeyValue) (all []string) {
	for _, a := range list {
		all = append(all, fmt.Sprintf("%s=%v", a.Key, a.Value.AsInterface()))
	}
	slices.Sort(all)
	return all
}

var page = persistable.Operation{Name: "Page", Type: "Order", Index: "Order_Status", Path: []string{"tenants", "a"}}

func TestSpans(t *testing.T) {
	r := newRecorder(t)
	ctx, endOuter := r.Begin(t.Context(), persistable.Operation{Name: "Transact"})
	_, end := r.Begin(ctx, page)
	end(persistable.Outcome{
		Attempts: 2, Conflicts: 1, Throttled: 1, Usage: measure.Usage{Counts: measure.Counts{Rounds: 3, Writes: 4}, Pairs: 5, BytesRead: 6, BytesWritten: 7},
		Causes: []persistable.Conflict{{Type: "Order", Path: []string{"tenants", "a"}, ID: 17}}, Err: errors.New("lost"),
	})
	endOuter(persistable.Outcome{Err: fmt.Errorf("%w: no", persistable.ErrNotFound)})
	spans := r.spans.GetSpans()
	if len(spans) != 2 || spans[0].Name != "Page Order" || spans[1].Name != "Transact" || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() {
		t.Fatalf("got %+v", spans)
	}
	want := []string{
		"db.collection.name=Order", "db.namespace=tenants/a", "db.operation.name=Page", "db.system.name=kazahana", "error.type=_OTHER",
		"kazahana.attempts=2", "kazahana.bytes_read=6", "kazahana.bytes_written=7", "kazahana.conflicts=1",
		"kazahana.index=Order_Status", "kazahana.keys_read=5", "kazahana.rounds=3", "kazahana.throttled=1", "kazahana.writes=4",
	}
	if diff := cmp.Diff(want, texts(spans[0].Attributes)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	events := spans[0].Events
	if len(events) != 1 || events[0].Name != "conflict" || !slices.Equal(texts(events[0].Attributes), []string{"kazahana.changed=the record 17 of Order in tenants/a"}) {
		t.Errorf("events %+v", events)
	}
	if spans[0].Status.Code != codes.Error || spans[1].Status.Code != codes.Unset {
		t.Errorf("the states are %v and, of one that found nothing, %v", spans[0].Status, spans[1].Status)
	}
}

// TestSpansHaveNoValues: what records hold is in spans only if the program asks for it.
func TestSpansHaveNoValues(t *testing.T) {
	for _, asked := range []bool{false, true} {
		r := newRecorder(t)
		r.Values = asked
		_, end := r.Begin(t.Context(), persistable.Operation{Name: "Create", Type: "User"})
		taken := &persistable.UniqueError{Type: "User", Index: "User_Mail", Fields: []string{"Mail"}, Values: tuple.Tuple{"eve@example.com"}, Owner: 7}
		end(persistable.Outcome{
			Causes: []persistable.Conflict{
				{Type: "User", Index: "User_Mail", Fields: []string{"Mail"}, Values: tuple.Tuple{"eve@example.com"}},
				{Range: kv.KeyRange{Begin: []byte("eve@example.com"), End: []byte("eve@example.com\x00")}},
			},
			Err: fmt.Errorf("registering eve@example.com: %w", taken),
		})
		span := r.spans.GetSpans()[0]
		if all := fmt.Sprintf("%+v", span); strings.Contains(all, "eve@") != asked {
			t.Errorf("Values is %v, the span %s", asked, all)
		}
		if attributes := texts(span.Attributes); !slices.Contains(attributes, "error.type=unique") || !slices.Contains(attributes, "kazahana.index=User_Mail") {
			t.Errorf("the attributes are %v", attributes)
		}
		want := 3
		if !asked {
			want = 2
		}
		if span.Status.Code != codes.Error || len(span.Events) != want || asked && strings.Count(fmt.Sprintf("%+v", span.Events), "eve@") < 3 {
			t.Errorf("the status is %v, the events are %+v", span.Status, span.Events)
		}
	}
}

func TestHistograms(t *testing.T) {
	r := newRecorder(t)
	for _, o := range []persistable.Outcome{
		{Time: time.Second, Attempts: 2, Conflicts: 1, Throttled: 1, Usage: measure.Usage{Counts: measure.Counts{Rounds: 3}, Pairs: 5, BytesRead: 6, BytesWritten: 7}, Waits: measure.Waits{ReadVersion: 2 * time.Second, Commit: 3 * time.Second}},
		{Time: time.Second, Attempts: 1, Err: kv.NewError(kv.CodeNotCommitted, "")},
	} {
		_, end := r.Begin(t.Context(), page)
		end(o)
	}
	bound := page
	bound.Bound = true
	_, end := r.Begin(t.Context(), bound)
	end(persistable.Outcome{Time: time.Second, Usage: measure.Usage{Pairs: 100}})
	want := []string{
		"db.client.operation.duration [db.collection.name=Order db.operation.name=Page error.type=kv_1020 kazahana.index=Order_Status]: 1, sum 1",
		"db.client.operation.duration [db.collection.name=Order db.operation.name=Page kazahana.index=Order_Status]: 2, sum 2",
		"kazahana.operation.commit [db.collection.name=Order db.operation.name=Page kazahana.index=Order_Status]: 1, sum 3",
		"kazahana.operation.read_version [db.collection.name=Order db.operation.name=Page kazahana.index=Order_Status]: 1, sum 2",
		"kazahana.operation.attempts: 2, sum 3", "kazahana.operation.bytes_read: 2, sum 6", "kazahana.operation.bytes_written: 2, sum 7",
		"kazahana.operation.conflicts: 2, sum 1", "kazahana.operation.keys_read: 2, sum 5", "kazahana.operation.rounds: 2, sum 3", "kazahana.operation.throttled: 2, sum 1",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, r.collect(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTenants: the first tenants have values of their own, the ones after them share one.
func TestTenants(t *testing.T) {
	r := newRecorder(t)
	r.MaxTenants = 2
	r.TenantOf = func(path []string) string {
		if path[0] != "tenants" {
			return ""
		}
		return path[1]
	}
	for _, path := range [][]string{{"tenants", "a"}, {"tenants", "b"}, {"tenants", "c"}, {"tenants", "a"}, {"tenants", "d"}, {"articles"}, nil} {
		_, end := r.Begin(t.Context(), persistable.Operation{Name: "Get", Path: path, Bound: true})
		end(persistable.Outcome{Time: time.Second})
	}
	want := []string{
		"db.client.operation.duration [db.operation.name=Get kazahana.tenant=a]: 2, sum 2",
		"db.client.operation.duration [db.operation.name=Get kazahana.tenant=b]: 1, sum 1",
		"db.client.operation.duration [db.operation.name=Get kazahana.tenant=other]: 2, sum 2",
		"db.client.operation.duration [db.operation.name=Get]: 2, sum 2",
	}
	if diff := cmp.Diff(want, r.collect(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWaits: the operations of a database have waited for read version and commit.
func TestWaits(t *testing.T) {
	r := newRecorder(t)
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	db, err := persistable.Open(t.Context(), engine, persistable.Options{Tracer: r.Tracer, IDs: persistable.IDOptions{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Transact(t.Context(), func(tx persistable.Tx) error {
		value, err := tx.KV().Get([]byte("k")).Get(t.Context())
		tx.KV().Set([]byte("k"), append(value, 1))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(r.collect(t), "\n")
	for _, name := range []string{"kazahana.operation.read_version", "kazahana.operation.commit"} {
		if !strings.Contains(all, name+" [db.operation.name=Transact]: 1, sum ") {
			t.Errorf("there is no %s in\n%s", name, all)
		}
	}
}

// collect returns the histograms in short.
func (r recorder) collect(t *testing.T) (all []string) {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := r.metrics.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch h := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range h.DataPoints {
				all = append(all, fmt.Sprintf("%s %v: %d, sum %v", m.Name, texts(p.Attributes.ToSlice()), p.Count, p.Sum))
			}
		case metricdata.Histogram[int64]:
			for _, p := range h.DataPoints {
				all = append(all, fmt.Sprintf("%s: %d, sum %v", m.Name, p.Count, p.Sum))
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestBuckets: one conflict and four are in buckets of their own, for these are the usual numbers.
func TestBuckets(t *testing.T) {
	r := newRecorder(t)
	for _, conflicts := range []int{0, 1, 4, 4} {
		_, end := r.Begin(t.Context(), page)
		end(persistable.Outcome{Attempts: conflicts + 1, Conflicts: conflicts})
	}
	var data metricdata.ResourceMetrics
	if err := r.metrics.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		if m.Name != "kazahana.operation.conflicts" {
			continue
		}
		point := m.Data.(metricdata.Histogram[int64]).DataPoints[0]
		if want := []uint64{1, 1, 0, 0, 2, 0, 0, 0, 0}; !slices.Equal(point.BucketCounts, want) {
			t.Errorf("the buckets up to %v have %v, want %v", point.Bounds, point.BucketCounts, want)
		}
		return
	}
	t.Error("there is no histogram of conflicts")
}

// TestIdentifiers names a transaction by the id of its span's trace.
func TestIdentifiers(t *testing.T) {
	r := newRecorder(t)
	r.Identifiers = true
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	db, err := persistable.Open(t.Context(), engine, persistable.Options{Tracer: r.Tracer})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(db.Close(), engine.Close()) }()
	err = db.Transact(t.Context(), func(tx persistable.Tx) error { return kv.NewError(kv.CodeClientInvalidOperation, "") })
	spans := r.spans.GetSpans()
	if id := spans[len(spans)-1].SpanContext.TraceID().String(); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("the error %v does not name the trace %s", err, id)
	}
}
