// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// startTrace takes the id of the trace from the traceparent header (W3C Trace
// Context), or makes one, and begins a span if there is a tracer.
func (c *call) startTrace() {
	if provider := c.worker.options.Tracer; provider != nil {
		c.startSpan(provider)
	}
	if c.trace == "" {
		c.trace = traceOf(c.r.Header.Get("Traceparent"))
	}
}

func (c *call) startSpan(provider trace.TracerProvider) {
	ctx := propagation.TraceContext{}.Extract(c.r.Context(), propagation.HeaderCarrier(c.r.Header))
	name, route := spanName(c.r)
	ctx, span := provider.Tracer("github.com/kazahana-db/kazahana/idbuilder").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
	c.r, c.span = c.r.WithContext(ctx), span
	if id := span.SpanContext().TraceID(); id.IsValid() {
		c.trace = id.String()
	}
	if span.IsRecording() {
		method, _, _ := strings.Cut(name, " ")
		span.SetAttributes(semconv.HTTPRequestMethodKey.String(method), semconv.URLPath(brief(c.r.URL.Path)))
		if route != "" {
			span.SetAttributes(semconv.HTTPRoute(route))
		}
	}
}

// spanName returns the name of the span of a request, and its route: one of a few, whatever
// clients send. A request for what is not served has its method alone, one with a method that
// HTTP does not have is HTTP.
func spanName(r *http.Request) (name, route string) {
	switch name = r.Method; name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace, http.MethodConnect:
	default:
		name = "HTTP"
	}
	if _, route, _ = strings.Cut(r.Pattern, " "); route != "" {
		name += " " + route
	}
	return name, route
}

// endSpan ends the span of the call.
func (c *call) endSpan() {
	if c.span == nil {
		return
	}
	if c.span.IsRecording() {
		c.span.SetAttributes(semconv.HTTPResponseStatusCode(c.status))
		if c.status >= 500 {
			c.span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(c.status)))
			c.span.SetStatus(codes.Error, "")
		}
	}
	c.span.End()
}

// traceOf returns the trace id of a traceparent header, or a new one.
func traceOf(header string) string {
	if fields := strings.Split(header, "-"); header != "" && len(fields) >= 4 && fields[0] != "ff" {
		if id, err := trace.TraceIDFromHex(fields[1]); err == nil {
			return id.String()
		}
	}
	var id [16]byte
	binary.BigEndian.PutUint64(id[:8], rand.Uint64()|1) // not all zero
	binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	return hex.EncodeToString(id[:])
}

// logRequest logs the request and its answer at the level debug, without what is secret: of the
// query the key alone, and neither header nor body.
func (c *call) logRequest() {
	log := c.worker.options.Logger
	if !log.Enabled(c.r.Context(), slog.LevelDebug) {
		return
	}
	query, _ := url.ParseQuery(c.r.URL.RawQuery) // what is not well-formed was refused
	log.Debug("idbuilder: request", "method", brief(c.r.Method), "path", brief(c.r.URL.Path), "key", brief(cmp.Or(query.Get("key"), query.Get("name"))),
		"status", c.status, "bytes", len(c.body), "took", time.Since(c.begun), "remote", c.r.RemoteAddr, "trace_id", c.trace)
}

// logAction logs what an admin did over HTTP. A command that calls the worker in its own process has no
// remote address, and prints its result anyway.
func (c *call) logAction(what, key string) {
	if c.r.RemoteAddr == "" {
		return
	}
	c.worker.options.Logger.LogAttrs(c.r.Context(), slog.LevelInfo, "idbuilder: "+what,
		slog.String("key", brief(key)), slog.String("remote", c.r.RemoteAddr), slog.String("trace_id", c.trace))
}
