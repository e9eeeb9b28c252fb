// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
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
	ctx, span := provider.Tracer("github.com/kazahana-db/kazahana/idbuilder").Start(ctx, c.r.Method+" "+c.r.URL.Path, trace.WithSpanKind(trace.SpanKindServer))
	c.r, c.span = c.r.WithContext(ctx), span
	if id := span.SpanContext().TraceID(); id.IsValid() {
		c.trace = id.String()
	}
}

// endSpan ends the span of the call.
func (c *call) endSpan() {
	if c.span == nil {
		return
	}
	c.span.SetAttributes(attribute.Int("http.response.status_code", c.status))
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
	log.Debug("idbuilder: request", "method", c.r.Method, "path", c.r.URL.Path, "key", cmp.Or(query.Get("key"), query.Get("name")),
		"status", c.status, "bytes", len(c.body), "took", time.Since(c.begun), "remote", c.r.RemoteAddr, "trace_id", c.trace)
}
