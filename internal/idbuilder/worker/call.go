// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.22.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
)

// call is a request that a worker serves.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	worker  *Worker
	begun   time.Time
	trace   string // id of the trace
	span    trace.Span
	status  int // of the answer that was sent; 0: none yet
	entry   *keyEntry
	who     token.Identity
	numbers []int64
	body    []byte
	reply   *replyKey // of a request with an Idempotency-Key
	lease   string    // lease key of the answer that the request repeats
	limit   *deadline
	outage  bool // the store does not answer: the token and the configuration may have changed since
}

var calls = sync.Pool{New: func() any { return &call{body: make([]byte, 0, 512)} }}

// runEndpoint runs the endpoint. A panic is an internal error of this request alone.
func (c *call) runEndpoint(fn endpoint) (err error) {
	defer func() {
		p := recover()
		if p == http.ErrAbortHandler {
			panic(p) // the connection is cut off in the middle of the answer
		}
		if p != nil {
			c.worker.options.Logger.Error("idbuilder: panic", "panic", p, "trace_id", c.trace, "stack", string(debug.Stack()))
			err = api.Errorf(api.Internal, "internal error; its trace id is %s", c.trace)
		}
	}()
	return fn(c)
}

// requestContext returns the context of the request, with the time limit of requests.
func (c *call) requestContext() context.Context {
	if c.limit == nil {
		c.limit = &deadline{parent: c.r.Context(), at: c.begun.Add(c.worker.options.Timeout)}
	}
	return c.limit
}

// endCall reports the call and gives it back.
func (c *call) endCall() {
	if c.limit != nil {
		c.limit.stopTimer()
	}
	c.reportUsage()
	body, numbers := c.body[:0], c.numbers[:0]
	if cap(body) > 64<<10 {
		body = nil
	}
	*c = call{body: body, numbers: numbers}
	calls.Put(c)
}

// headerValue is [http.Header.Get] for a name that is written as net/http writes it. It does not
// look for another form of the name.
func headerValue(r *http.Request, name string) string {
	if values := r.Header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// bearer returns the token of the request: with Bearer before it, as the
// specification says, or bare, as the deployed worker's client libraries send it.
func bearer(r *http.Request) string {
	text := headerValue(r, "Authorization")
	if scheme, rest, ok := strings.Cut(text, " "); ok && strings.EqualFold(scheme, "Bearer") {
		text = strings.TrimLeft(rest, " ")
	}
	return text
}

// authenticate identifies the caller by its token, and applies the limit of its requests.
func (c *call) authenticate(check func(ctx context.Context, text string) (token.Identity, bool, error)) error {
	text := bearer(c.r)
	if text == "" {
		return api.Errorf(api.Authentication, "Authorization: the header is missing; send `Authorization: Bearer <token>`")
	}
	var err error
	if c.who, c.outage, err = check(c.requestContext(), text); err != nil {
		return err
	}
	return c.worker.limits.allowRequest(c.who.Hash, c.begun)
}

// authorizeAdmin admits callers with an admin token.
func (c *call) authorizeAdmin() error {
	check := func(ctx context.Context, text string) (who token.Identity, outage bool, err error) {
		who, err = c.worker.tokens.Check(ctx, text)
		return who, false, err
	}
	if err := c.authenticate(check); err != nil {
		return err
	}
	if !c.who.Admin {
		return api.Errorf(api.Authorization, "Authorization: the token is not one of an admin, which is needed")
	}
	return nil
}

// authorize admits a caller if its token permits IDs of the key, and returns the key.
func (c *call) authorize(key string, t idconfig.Type) (*keyEntry, *keyState, error) {
	if err := c.authenticate(c.worker.tokens.CheckLast); err != nil {
		return nil, nil, err
	}
	if !c.who.Admin && !c.who.Global && c.who.Key != key {
		return nil, nil, api.Errorf(api.Authorization, "Authorization: the token is not one for the key %q", key)
	}
	e, s, outage, err := c.worker.keys.ofType(c.requestContext(), key, t)
	if err != nil {
		return nil, nil, err
	}
	c.outage = c.outage || outage
	if c.who.Global && s.config.KeyTokenOnly {
		return nil, nil, api.Errorf(api.Authorization, "Authorization: the key %q needs a token of its own", key)
	}
	c.entry = e
	return e, s, c.replayReply(key, t)
}

// requestFingerprint returns a hash that is the same for a request and its repetitions.
func (c *call) requestFingerprint() [sha256.Size]byte {
	h := sha256.New()
	h.Write(c.who.Hash[:])
	for _, part := range []string{c.r.Method, c.r.URL.Path, c.r.URL.RawQuery} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (c *call) readBody() ([]byte, error) {
	limit := c.worker.options.MaxBody
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, &api.Error{Code: api.Invalid, Status: http.StatusRequestEntityTooLarge, Message: "body: it is larger than " + strconv.FormatInt(limit, 10) + " bytes", Err: err}
	}
	if err != nil {
		return nil, &api.Error{Code: api.Invalid, Message: "body: it ended early", Err: err}
	}
	return body, nil
}

// reportUsage counts the call, and ends its span.
func (c *call) reportUsage() {
	c.endSpan()
	if c.entry == nil {
		return
	}
	c.entry.usage.addRequest(time.Since(c.begun))
	c.entry.noteUse(c.begun)
}

// bounds are the upper bounds of the buckets of latencies, in seconds.
var bounds = [...]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// keyUsage counts the requests of a key.
type keyUsage struct {
	requests atomic.Uint64 // for IDs, whatever their answer
	given    atomic.Int64  // IDs
	nanos    atomic.Int64  // all requests took
	buckets  [len(bounds)]atomic.Uint64
}

// addRequest counts a request.
func (u *keyUsage) addRequest(took time.Duration) {
	u.requests.Add(1)
	u.nanos.Add(int64(took))
	for i := range bounds {
		if took.Seconds() <= bounds[i] {
			u.buckets[i].Add(1)
			return
		}
	}
}

// startTrace takes the id of the trace from the traceparent header (W3C Trace
// Context), or makes one, and begins a span if there is a tracer.
func (c *call) startTrace() {
	if provider := c.worker.options.Tracer; provider != nil {
		c.startSpan(provider)
	}
	if c.trace == "" {
		c.trace = traceOf(headerValue(c.r, "Traceparent"))
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
	if header != "" {
		if fields := strings.Split(header, "-"); len(fields) >= 4 && fields[0] != "ff" {
			if id, err := trace.TraceIDFromHex(fields[1]); err == nil {
				return id.String()
			}
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

// deadline is a context that ends at a time. It makes a timer only when Done is called,
// because few requests wait.
type deadline struct {
	parent context.Context
	at     time.Time

	mu     sync.Mutex
	timed  context.Context // of parent; nil until Done was called
	cancel context.CancelFunc
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) {
	if earlier, ok := d.parent.Deadline(); ok && earlier.Before(d.at) {
		return earlier, true
	}
	return d.at, true
}

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.timerContext().Done() }

// Err implements context.Context.
func (d *deadline) Err() error {
	if err := d.parent.Err(); err != nil {
		return err
	}
	if !time.Now().Before(d.at) {
		return context.DeadlineExceeded
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		return nil
	}
	return d.timed.Err()
}

// Value implements context.Context.
func (d *deadline) Value(key any) any { return d.parent.Value(key) }

func (d *deadline) timerContext() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithDeadline(d.parent, d.at)
	}
	return d.timed
}

// stopTimer releases the timer, if there is one.
func (d *deadline) stopTimer() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
}
