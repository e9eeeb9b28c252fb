// SPDX-License-Identifier: Apache-2.0

// Package otlp sends the traces of a program to a collector of OpenTelemetry, by OTLP over HTTP
// with protobuf. The standard variables of the environment turn it on and describe it. The SDK
// samples and batches; this package encodes spans and sends them.
//
// OpenTelemetry's own exporter would link gRPC, and raise its version for every user of the
// library; see docs/dependencies.md.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Traces is a provider of tracers that sends the spans to a collector.
type Traces struct {
	*sdktrace.TracerProvider
	exporter *exporter
}

// Start begins to send traces as the environment says. It returns nil if the environment names
// neither a collector nor the exporter, and a [settings.Error] if a variable is wrong. The name
// of the service is a default.
func Start(ctx context.Context, service, version string, log *slog.Logger) (*Traces, error) {
	var e environment
	if !e.wantsTraces() {
		return nil, e.err()
	}
	t := e.readTarget()
	e.checkSDK()
	if err := e.err(); err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(semconv.ServiceName(service), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil {
		log.Warn("traces lack a part of their resource", "error", err)
	}
	x := newExporter(t, service+"/"+version, log)
	log.Info("sending traces", "collector", t.url.Host)
	return &Traces{sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(x)), x}, nil
}

// Close sends the spans that are left, each once, until ctx ends. What does not arrive is logged.
func (t *Traces) Close(ctx context.Context) {
	close(t.exporter.closing)
	defer context.AfterFunc(ctx, t.exporter.cutOff)()
	_ = t.Shutdown(ctx) // the cause of ctx
}

// exporter implements [sdktrace.SpanExporter]. The SDK calls it from one goroutine at a time.
type exporter struct {
	target
	client  http.Client
	agent   string
	closing chan struct{} // closed when each batch is to be sent only once more
	cut     context.Context
	cutOff  context.CancelFunc
	losses
}

func newExporter(t target, agent string, log *slog.Logger) *exporter {
	transport := http.DefaultTransport.(*http.Transport).Clone() // with the proxy of the environment
	transport.TLSClientConfig = t.tls
	x := &exporter{target: t, agent: agent, closing: make(chan struct{}), losses: losses{log: log, host: t.url.Host}}
	x.client = http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a redirect would send headers, which have secrets, elsewhere
	}}
	x.cut, x.cutOff = context.WithCancel(context.Background())
	return x
}

// ExportSpans implements [sdktrace.SpanExporter]. It returns no error: the SDK would log each one.
func (x *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	body, err := x.encode(spans)
	if err == nil {
		err = x.send(ctx, body)
	}
	lost := len(spans)
	if refused := new(refusal); errors.As(err, &refused) && refused.rejected > 0 {
		lost = min(lost, refused.rejected)
	}
	x.note(lost, err)
	return nil
}

// Shutdown implements [sdktrace.SpanExporter].
func (x *exporter) Shutdown(context.Context) error {
	x.cutOff()
	x.client.CloseIdleConnections()
	if x.spans > x.told {
		x.warn(errors.New("see the warning before"))
	}
	return nil
}

func (x *exporter) encode(spans []sdktrace.ReadOnlySpan) ([]byte, error) {
	body, err := proto.Marshal(request(spans))
	if err != nil || !x.gzip {
		return body, err
	}
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err = z.Write(body); err == nil {
		err = z.Close()
	}
	return small.Bytes(), err
}

// Times between two tries; a collector may name a longer one.
const (
	firstPause = time.Second
	maxPause   = 15 * time.Second
)

// send sends a batch until the collector has answered, or ctx ends. It tries again where OTLP
// says so: without an answer, and when the collector says that it is busy.
func (x *exporter) send(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(x.cut, func() { cancel(errors.New("the program ended before it answered")) })()
	var before error
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		last := x.isClosing()
		err := x.post(ctx, body)
		if ctx.Err() != nil && before != nil {
			return before // says more than the end of the time
		}
		before = err
		var refused *refusal
		if err == nil || last || errors.As(err, &refused) && !refused.isTemporary() {
			return err
		}
		wait := pause/2 + rand.N(pause)
		if refused != nil {
			wait = max(wait, refused.after)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return err
		}
		if x.pause(ctx, wait) != nil {
			return err
		}
	}
}

func (x *exporter) isClosing() bool {
	select {
	case <-x.closing:
		return true
	default:
		return false
	}
}

// pause waits until d has passed or the exporter is closing. The error is the cause of ctx's end.
func (x *exporter) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.closing:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// post sends a batch once.
func (x *exporter) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, x.timeout, fmt.Errorf("it did not answer within %v", x.timeout))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, x.url.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = x.headers.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", x.agent)
	if x.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := x.client.Do(r)
	if err != nil {
		return withoutURL(ctx, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case answer.StatusCode/100 != 2:
		return newRefusal(answer, text)
	case err != nil:
		return withoutURL(ctx, err)
	}
	return rejected(text)
}

// withoutURL returns the error of a request without its URL, which may have secrets.
func withoutURL(ctx context.Context, err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// rejected returns an error if the collector took only some of the spans.
func rejected(answer []byte) error {
	var reply collector.ExportTraceServiceResponse
	if proto.Unmarshal(answer, &reply) != nil {
		return nil // it took the request
	}
	if n := reply.GetPartialSuccess().GetRejectedSpans(); n > 0 {
		text := excerpt(reply.GetPartialSuccess().GetErrorMessage())
		return &refusal{status: http.StatusOK, rejected: int(min(n, math.MaxInt32)), text: fmt.Sprintf("it rejected %d spans: %s", n, text)}
	}
	return nil
}

// refusal is an answer of a collector that did not take all spans.
type refusal struct {
	status   int
	after    time.Duration // the collector's wish for the next try
	rejected int           // spans; 0: all
	text     string
}

func (r *refusal) Error() string { return fmt.Sprintf("it answered %d: %s", r.status, r.text) }

func (r *refusal) isTemporary() bool {
	switch r.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func newRefusal(answer *http.Response, body []byte) *refusal {
	r := &refusal{status: answer.StatusCode, text: http.StatusText(answer.StatusCode)}
	wish := answer.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(wish, 10, 31); err == nil {
		r.after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(wish); err == nil {
		r.after = time.Until(at)
	}
	text := body
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "application/x-protobuf") {
		text = statusMessage(body)
	}
	if len(text) > 0 {
		r.text = excerpt(string(text))
	}
	return r
}

// excerpt quotes the begin of what a collector says.
func excerpt(text string) string { return strconv.Quote(text[:min(len(text), 300)]) }

// statusMessage returns the message of a google.rpc.Status, its field 2.
func statusMessage(body []byte) []byte {
	for len(body) > 0 {
		field, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return nil
		}
		body = body[n:]
		if field == 2 && kind == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(body)
			return text
		}
		if n = protowire.ConsumeFieldValue(field, kind, body); n < 0 {
			return nil
		}
		body = body[n:]
	}
	return nil
}

// quiet is how long nothing more is logged after a warning that spans were lost.
const quiet = 5 * time.Minute

// losses counts the spans that did not arrive, and seldom logs them.
type losses struct {
	log    *slog.Logger
	host   string
	spans  int
	told   int // of spans, in the last warning
	warned time.Time
	lost   bool // the last warning is about a time that still lasts
}

// note notes the outcome of a batch.
func (l *losses) note(spans int, err error) {
	if err == nil {
		if l.lost {
			l.log.Info("traces arrive again", "collector", l.host, "lost_spans", l.spans)
			l.told = l.spans
		}
		l.lost = false
		return
	}
	l.spans += spans
	if now := time.Now(); l.warned.IsZero() || now.Sub(l.warned) >= quiet {
		l.warn(err)
		l.warned, l.lost = now, true
	}
}

func (l *losses) warn(err error) {
	l.log.Warn("traces are lost: the collector does not take them", "collector", l.host, "lost_spans", l.spans, "error", err)
	l.told = l.spans
}
