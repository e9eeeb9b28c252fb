// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// request returns the message for spans of one provider, which have one resource, by the tracers
// that made them.
func request(spans []sdktrace.ReadOnlySpan) *collector.ExportTraceServiceRequest {
	all := &tracepb.ResourceSpans{}
	scopes := map[instrumentation.Scope]*tracepb.ScopeSpans{}
	for _, s := range spans {
		if all.Resource == nil {
			all.Resource = &resourcepb.Resource{Attributes: keyValues(s.Resource().Attributes())}
			all.SchemaUrl = s.Resource().SchemaURL()
		}
		scope := s.InstrumentationScope()
		of := scopes[scope]
		if of == nil {
			of = &tracepb.ScopeSpans{SchemaUrl: scope.SchemaURL, Scope: &commonpb.InstrumentationScope{
				Name: scope.Name, Version: scope.Version, Attributes: keyValues(scope.Attributes.ToSlice()),
			}}
			scopes[scope] = of
			all.ScopeSpans = append(all.ScopeSpans, of)
		}
		of.Spans = append(of.Spans, spanOf(s))
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{all}}
}

func spanOf(s sdktrace.ReadOnlySpan) *tracepb.Span {
	own, parent := s.SpanContext(), s.Parent()
	traceID, spanID := own.TraceID(), own.SpanID()
	span := &tracepb.Span{
		TraceId: traceID[:], SpanId: spanID[:], TraceState: own.TraceState().String(), Flags: flags(own, parent),
		Name: valid(s.Name()), Kind: kind(s.SpanKind()), StartTimeUnixNano: nanos(s.StartTime()), EndTimeUnixNano: nanos(s.EndTime()),
		Attributes: keyValues(s.Attributes()), DroppedAttributesCount: count(s.DroppedAttributes()),
		Events: events(s.Events()), DroppedEventsCount: count(s.DroppedEvents()),
		Links: links(s.Links()), DroppedLinksCount: count(s.DroppedLinks()),
		Status: &tracepb.Status{Code: statusCode(s.Status().Code), Message: valid(s.Status().Description)},
	}
	if id := parent.SpanID(); id.IsValid() {
		span.ParentSpanId = id[:]
	}
	return span
}

// flags returns the flags of a span's own context, and whether another one is of another process.
func flags(own, other trace.SpanContext) uint32 {
	f := uint32(own.TraceFlags()) | uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if other.IsRemote() {
		f |= uint32(tracepb.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	return f
}

// kind returns the kind of a span. OTLP has OpenTelemetry's kinds in another order.
func kind(k trace.SpanKind) tracepb.Span_SpanKind {
	switch k {
	case trace.SpanKindServer:
		return tracepb.Span_SPAN_KIND_SERVER
	case trace.SpanKindClient:
		return tracepb.Span_SPAN_KIND_CLIENT
	case trace.SpanKindProducer:
		return tracepb.Span_SPAN_KIND_PRODUCER
	case trace.SpanKindConsumer:
		return tracepb.Span_SPAN_KIND_CONSUMER
	case trace.SpanKindInternal:
		return tracepb.Span_SPAN_KIND_INTERNAL
	}
	return tracepb.Span_SPAN_KIND_UNSPECIFIED
}

func statusCode(c codes.Code) tracepb.Status_StatusCode {
	switch c {
	case codes.Ok:
		return tracepb.Status_STATUS_CODE_OK
	case codes.Error:
		return tracepb.Status_STATUS_CODE_ERROR
	}
	return tracepb.Status_STATUS_CODE_UNSET
}

func events(all []sdktrace.Event) (list []*tracepb.Span_Event) {
	for _, e := range all {
		list = append(list, &tracepb.Span_Event{
			Name: valid(e.Name), TimeUnixNano: nanos(e.Time), Attributes: keyValues(e.Attributes), DroppedAttributesCount: count(e.DroppedAttributeCount),
		})
	}
	return list
}

func links(all []sdktrace.Link) (list []*tracepb.Span_Link) {
	for _, l := range all {
		traceID, spanID := l.SpanContext.TraceID(), l.SpanContext.SpanID()
		list = append(list, &tracepb.Span_Link{
			TraceId: traceID[:], SpanId: spanID[:], TraceState: l.SpanContext.TraceState().String(), Flags: flags(l.SpanContext, l.SpanContext),
			Attributes: keyValues(l.Attributes), DroppedAttributesCount: count(l.DroppedAttributeCount),
		})
	}
	return list
}

// nanos returns the nanoseconds since 1970, 0 before.
func nanos(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) }

func count(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }

// valid returns the text as UTF-8. Protobuf encodes nothing else, and a client can send any bytes
// in a path.
func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

func keyValues(attributes []attribute.KeyValue) (list []*commonpb.KeyValue) {
	for _, a := range attributes {
		list = append(list, &commonpb.KeyValue{Key: valid(string(a.Key)), Value: anyValue(a.Value)})
	}
	return list
}

func anyValue(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRING:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: valid(v.AsString())}}
	case attribute.BYTESLICE:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: v.AsByteSlice()}}
	case attribute.BOOLSLICE:
		return array(v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return array(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return array(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return array(v.AsStringSlice(), attribute.StringValue)
	case attribute.SLICE:
		return array(v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.MAP:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: keyValues(v.AsMap())}}}
	}
	return &commonpb.AnyValue{} // an empty value
}

func array[T any](values []T, valueOf func(T) attribute.Value) *commonpb.AnyValue {
	list := &commonpb.ArrayValue{}
	for _, v := range values {
		list.Values = append(list.Values, anyValue(valueOf(v)))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
}
