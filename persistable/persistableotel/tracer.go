// SPDX-License-Identifier: Apache-2.0

package persistableotel

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/trace"
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
	errorKey     = attribute.Key("error.type")
)

// Tracer makes spans and histograms of operations. It is safe for concurrent use.
type Tracer struct {
	spans       oteltrace.Tracer
	instruments instruments
}

var _ trace.Tracer = (*Tracer)(nil)

// NewTracer returns a tracer for persistable.Options. The error is that of meters, for an
// instrument that it does not like.
func NewTracer(spans oteltrace.TracerProvider, meters metric.MeterProvider) (*Tracer, error) {
	in, err := newInstruments(meters.Meter(scope))
	if err != nil {
		return nil, err
	}
	return &Tracer{spans.Tracer(scope), in}, nil
}

// Begin implements [trace.Tracer].
func (t *Tracer) Begin(ctx context.Context, op trace.Operation) (inner context.Context, end func(trace.Outcome)) {
	name := op.Name
	if op.Type != "" {
		name += " " + op.Type
	}
	attributes := attributesOf(op)
	inner, span := t.spans.Start(ctx, name, oteltrace.WithSpanKind(oteltrace.SpanKindClient), oteltrace.WithAttributes(
		append(attributes, systemKey.String("kazahana"), directoryKey.String(strings.Join(op.Path, "/")))...,
	))
	return inner, func(o trace.Outcome) {
		t.instruments.record(ctx, attributes, op, o)
		endSpan(span, o)
	}
}

// attributesOf returns the attributes that spans and instruments have in common.
func attributesOf(op trace.Operation) []attribute.KeyValue {
	all := append(make([]attribute.KeyValue, 0, 5), operationKey.String(op.Name))
	if op.Type != "" {
		all = append(all, typeKey.String(op.Type))
	}
	if op.Index != "" {
		all = append(all, indexKey.String(op.Index))
	}
	return all
}

// endSpan ends a span with what the operation cost.
func endSpan(span oteltrace.Span, o trace.Outcome) {
	defer span.End()
	span.SetAttributes(
		attribute.Int("kazahana.attempts", o.Attempts), attribute.Int("kazahana.conflicts", o.Conflicts), attribute.Int("kazahana.rounds", o.Rounds),
		attribute.Int("kazahana.keys_read", o.Pairs), attribute.Int("kazahana.bytes_read", o.BytesRead),
		attribute.Int("kazahana.writes", o.Writes), attribute.Int("kazahana.bytes_written", o.BytesWritten),
	)
	for _, c := range o.Causes {
		span.AddEvent("conflict", oteltrace.WithAttributes(attribute.String("kazahana.changed", c.String())))
	}
	if hasFailed(o.Err) {
		span.RecordError(o.Err)
		span.SetStatus(codes.Error, o.Err.Error())
	}
}

// hasFailed reports whether an operation had no answer.
func hasFailed(err error) bool { return err != nil && !errors.Is(err, persistable.ErrNotFound) }
