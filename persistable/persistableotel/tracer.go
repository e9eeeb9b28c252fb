// SPDX-License-Identifier: Apache-2.0

package persistableotel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/kazahana-db/kazahana/internal/measure"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/persistable"

// The attributes of spans and instruments.
const (
	systemKey    = attribute.Key("db.system.name")
	operationKey = attribute.Key("db.operation.name")
	typeKey      = attribute.Key("db.collection.name")
	directoryKey = attribute.Key("db.namespace")
	indexKey     = attribute.Key("kazahana.index")
	tenantKey    = attribute.Key("kazahana.tenant")
	errorKey     = attribute.Key("error.type")
)

// Tracer makes spans and histograms of operations. It is safe for concurrent use.
type Tracer struct {
	// Values puts what records hold into spans: the texts of errors, which for a unique index name the
	// value that is taken, and may be the program's own; and the values of the index entries, and the
	// bytes of the keys, by which a transaction conflicted. Users may have entered them. Otherwise a
	// span of a failed operation has error.type alone, and for a unique index its name. Set
	// it before the tracer is used.
	Values bool

	// Identifiers names the transactions of a cluster by the ids of their traces, in the client's trace
	// and in its samples: see persistable.WithIdentifier. Set it before the tracer is used.
	Identifiers bool

	// TenantOf returns the tenant of a directory: the value of the attribute kazahana.tenant of
	// instruments, or "" for none. It may be the function of persistable.Options.TagOf, for the load by
	// tag. nil: instruments have no such attribute. Set it before the tracer is used.
	TenantOf func(path []string) string
	// MaxTenants is how many tenants have a value of their own, the first ones that are seen. Those
	// after them are "other" together. The default value is 100.
	MaxTenants int

	tenants     tenants
	spans       oteltrace.Tracer
	instruments instruments
}

var _ persistable.Tracer = (*Tracer)(nil)

// NewTracer returns a tracer for persistable.Options. The error is that of meters, for an
// instrument that it does not like.
func NewTracer(spans oteltrace.TracerProvider, meters metric.MeterProvider) (*Tracer, error) {
	in, err := newInstruments(meters.Meter(scope))
	if err != nil {
		return nil, err
	}
	return &Tracer{spans: spans.Tracer(scope), instruments: in}, nil
}

// Begin implements [persistable.Tracer].
func (t *Tracer) Begin(ctx context.Context, op persistable.Operation) (inner context.Context, end func(persistable.Outcome)) {
	name := op.Name
	if op.Type != "" {
		name += " " + op.Type
	}
	attributes := attributesOf(op)
	inner, span := t.spans.Start(ctx, name, oteltrace.WithSpanKind(oteltrace.SpanKindClient), oteltrace.WithAttributes(
		append(attributes, systemKey.String("kazahana"), directoryKey.String(strings.Join(op.Path, "/")))...,
	))
	if id := span.SpanContext().TraceID(); t.Identifiers && id.IsValid() {
		inner = persistable.WithIdentifier(inner, id.String())
	}
	measured := append(slices.Clip(attributes), t.tenantOf(op)...)
	return inner, func(o persistable.Outcome) {
		t.instruments.record(ctx, measured, op, o)
		t.endSpan(span, o)
	}
}

// attributesOf returns the attributes that spans and instruments have in common.
func attributesOf(op persistable.Operation) []attribute.KeyValue {
	all := append(make([]attribute.KeyValue, 0, 5), operationKey.String(op.Name))
	if op.Type != "" {
		all = append(all, typeKey.String(op.Type))
	}
	if op.Index != "" {
		all = append(all, indexKey.String(op.Index))
	}
	return all
}

// tenants are those that have a value of their own.
type tenants struct {
	mu    sync.Mutex
	known map[string]bool
}

// otherTenants is the value of all others.
const otherTenants = "other"

// tenantOf returns the attribute of an operation's tenant, if there is one.
func (t *Tracer) tenantOf(op persistable.Operation) []attribute.KeyValue {
	if t.TenantOf == nil || len(op.Path) == 0 {
		return nil
	}
	name := t.TenantOf(op.Path)
	if name == "" {
		return nil
	}
	return []attribute.KeyValue{tenantKey.String(t.tenants.bound(name, cmp.Or(t.MaxTenants, 100)))}
}

// bound returns a name, or that of all others if there are as many as most before it.
func (s *tenants) bound(name string, most int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.known[name]:
		return name
	case len(s.known) >= most:
		return otherTenants
	case s.known == nil:
		s.known = map[string]bool{}
	}
	s.known[name] = true
	return name
}

// endSpan ends a span with what the operation cost.
func (t *Tracer) endSpan(span oteltrace.Span, o persistable.Outcome) {
	defer span.End()
	span.SetAttributes(
		attribute.Int("kazahana.attempts", o.Attempts), attribute.Int("kazahana.conflicts", o.Conflicts), attribute.Int("kazahana.throttled", o.Throttled), attribute.Int("kazahana.rounds", o.Rounds),
		attribute.Int("kazahana.keys_read", o.Pairs), attribute.Int("kazahana.bytes_read", o.BytesRead),
		attribute.Int("kazahana.writes", o.Writes), attribute.Int("kazahana.bytes_written", o.BytesWritten),
	)
	for _, c := range o.Causes {
		span.AddEvent("conflict", oteltrace.WithAttributes(attribute.String("kazahana.changed", t.describe(c))))
	}
	if hasFailed(o.Err) {
		t.recordError(span, o.Err)
	}
}

// describe says what another transaction changed.
func (t *Tracer) describe(c persistable.Conflict) string {
	switch {
	case t.Values:
	case c.Type == "":
		return "keys of no store"
	default:
		c.Values = nil
	}
	return c.String()
}

// recordError says in a span why an operation failed.
func (t *Tracer) recordError(span oteltrace.Span, err error) {
	span.SetAttributes(errorKey.String(errorType(err)))
	var unique *persistable.UniqueError
	if errors.As(err, &unique) {
		span.SetAttributes(indexKey.String(unique.Index))
	}
	if !t.Values {
		span.SetStatus(codes.Error, "")
		return
	}
	span.RecordError(err)
	span.SetStatus(codes.Error, err.Error())
}

// hasFailed reports whether an operation had no answer.
func hasFailed(err error) bool { return err != nil && !errors.Is(err, persistable.ErrNotFound) }

// instruments are the histograms of a tracer.
type instruments struct {
	duration, readVersion, commit metric.Float64Histogram
	costs                         []cost
}

// secondBounds are the bounds for times.
var secondBounds = metric.WithExplicitBucketBoundaries(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)

// cost is a histogram of something that operations cost.
type cost struct {
	name, unit, about string
	of                func(persistable.Outcome) int
	bounds            []float64 // of the buckets; nil: the SDK's, of which the first above 0 is 5
	metric.Int64Histogram
}

// few are the bounds for numbers that are mostly 0 or 1.
var few = []float64{0, 1, 2, 3, 5, 10, 20, 50}

func newInstruments(meter metric.Meter) (instruments, error) {
	in := instruments{costs: []cost{
		{name: "attempts", unit: "{attempt}", about: "Attempts of an operation's transaction.", of: func(o persistable.Outcome) int { return o.Attempts }, bounds: few},
		{name: "conflicts", unit: "{conflict}", about: "Attempts that failed because of another transaction.", of: func(o persistable.Outcome) int { return o.Conflicts }, bounds: few},
		{name: "throttled", unit: "{attempt}", about: "Attempts that a limit of their tags ended.", of: func(o persistable.Outcome) int { return o.Throttled }, bounds: few},
		{name: "rounds", unit: "{round}", about: "Rounds of reads.", of: func(o persistable.Outcome) int { return o.Rounds }, bounds: few},
		{name: "keys_read", unit: "{key}", about: "Pairs read.", of: func(o persistable.Outcome) int { return o.Pairs }},
		{name: "bytes_read", unit: "By", about: "Length of the keys and values read.", of: func(o persistable.Outcome) int { return o.BytesRead }},
		{name: "bytes_written", unit: "By", about: "Length of the keys and values written, in all attempts.", of: func(o persistable.Outcome) int { return o.BytesWritten }},
	}}
	var faults []error
	for i := range in.costs {
		c := &in.costs[i]
		var err error
		options := []metric.Int64HistogramOption{metric.WithUnit(c.unit), metric.WithDescription(c.about)}
		if c.bounds != nil {
			options = append(options, metric.WithExplicitBucketBoundaries(c.bounds...))
		}
		c.Int64Histogram, err = meter.Int64Histogram("kazahana.operation."+c.name, options...)
		faults = append(faults, err)
	}
	for _, h := range []struct {
		to          *metric.Float64Histogram
		name, about string
	}{
		{&in.duration, "db.client.operation.duration", "Time of operations."},
		{&in.readVersion, "kazahana.operation.read_version", "Wait for read versions, in all attempts."},
		{&in.commit, "kazahana.operation.commit", "Wait for commits, in all attempts."},
	} {
		var err error
		*h.to, err = meter.Float64Histogram(h.name, metric.WithUnit("s"), metric.WithDescription(h.about), secondBounds)
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return in, fmt.Errorf("persistableotel: new tracer: %w", err)
	}
	return in, nil
}

// record adds an operation to the histograms.
func (in *instruments) record(ctx context.Context, attributes []attribute.KeyValue, op persistable.Operation, o persistable.Outcome) {
	all := metric.WithAttributeSet(attribute.NewSet(attributes...))
	if !op.Bound {
		for _, c := range in.costs {
			c.Record(ctx, int64(c.of(o)), all)
		}
		in.recordWaits(ctx, o.Waits, all)
	}
	if hasFailed(o.Err) {
		all = metric.WithAttributeSet(attribute.NewSet(append(slices.Clip(attributes), errorKey.String(errorType(o.Err)))...))
	}
	in.duration.Record(ctx, o.Time.Seconds(), all)
}

// recordWaits adds what an operation has waited, if it had a read version or a commit.
func (in *instruments) recordWaits(ctx context.Context, w measure.Waits, all metric.MeasurementOption) {
	if w.ReadVersion > 0 {
		in.readVersion.Record(ctx, w.ReadVersion.Seconds(), all)
	}
	if w.Commit > 0 {
		in.commit.Record(ctx, w.Commit.Seconds(), all)
	}
}

// errorType returns a name for an error, of which there are few.
func errorType(err error) string {
	var unique *persistable.UniqueError
	switch code := kv.CodeOf(err); {
	case code != 0:
		return fmt.Sprintf("kv_%d", code)
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline_exceeded"
	case errors.Is(err, persistable.ErrExists):
		return "exists"
	case errors.Is(err, persistable.ErrChanged):
		return "changed"
	case errors.As(err, &unique):
		return "unique"
	}
	return "_OTHER"
}
