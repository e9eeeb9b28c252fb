// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// clearEnvironment unsets every variable of OpenTelemetry for the test.
func clearEnvironment(t *testing.T) {
	for _, text := range os.Environ() {
		if name, _, _ := strings.Cut(text, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}

// delivery is a request that a collector got.
type delivery struct {
	path   string
	header http.Header
	body   *collector.ExportTraceServiceRequest
}

// decode reads a request as a collector does.
func decode(r *http.Request) (delivery, error) {
	var reader io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return delivery{}, err
		}
		reader = z
	}
	b, err := io.ReadAll(reader)
	got := delivery{r.URL.RequestURI(), r.Header, &collector.ExportTraceServiceRequest{}}
	return got, errors.Join(err, proto.Unmarshal(b, got.body))
}

// TestExport sends a span that has everything that spans can have to a collector with HTTPS, as
// the environment says, and compares what it decodes.
func TestExport(t *testing.T) {
	clearEnvironment(t)
	requests := make(chan delivery, 10)
	c := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, err := decode(r)
		if err != nil {
			t.Error(err)
		}
		requests <- got
	}))
	defer c.Close()
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", authority)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20secret, other = 1")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=9%2C1")
	for _, v := range []struct{ name, value, path, service string }{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "/v1/traces", "idbuilder"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", c.URL + "/otlp/?a=b", "/otlp/v1/traces?a=b", "idbuilder"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL, "/", "idbuilder"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL + "/mine", "/mine", "idbuilder"},
		{"OTEL_SERVICE_NAME", "numbers", "/mine", "numbers"},
		{"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip", "/mine", "numbers"},
	} {
		t.Setenv(v.name, v.value)
		traces, err := Start(t.Context(), "idbuilder", "1.2", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		want := makeSpan(traces)
		traces.Close(t.Context())
		got := <-requests
		if got.path != v.path || got.header.Get("Api-Key") != "a secret" || got.header.Get("Other") != "1" || got.header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s: %s %v", v.name, got.path, got.header)
		}
		checkSpan(t, got.body, want, v.service)
	}
}

var parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled, Remote: true})

// makeSpan makes a span.
func makeSpan(t *Traces) trace.SpanContext {
	state, _ := trace.ParseTraceState("a=b")
	ctx := trace.ContextWithSpanContext(context.Background(), parent.WithTraceState(state))
	_, s := t.Tracer("tests", trace.WithInstrumentationVersion("3")).Start(ctx, "GET /a", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(time.Unix(100, 1)), trace.WithLinks(trace.Link{SpanContext: parent, Attributes: []attribute.KeyValue{attribute.Bool("linked", true)}}))
	s.SetAttributes(attribute.Bool("bool", true), attribute.Int("int", -1), attribute.Float64("float", 0.5), attribute.String("text", "not UTF-8: \xff"),
		attribute.StringSlice("texts", []string{"a", "b"}), attribute.Int64Slice("ints", []int64{1, 2}), attribute.BoolSlice("bools", []bool{true}), attribute.Float64Slice("floats", []float64{2.5}))
	s.AddEvent("event", trace.WithTimestamp(time.Unix(101, 0)), trace.WithAttributes(attribute.String("k", "v")))
	s.SetStatus(codes.Error, "it failed")
	s.End(trace.WithTimestamp(time.Unix(102, 3)))
	return s.SpanContext()
}

// checkSpan compares what arrived with what makeSpan made.
func checkSpan(t *testing.T, got *collector.ExportTraceServiceRequest, made trace.SpanContext, service string) {
	t.Helper()
	if len(got.ResourceSpans) != 1 || len(got.ResourceSpans[0].ScopeSpans) != 1 || len(got.ResourceSpans[0].ScopeSpans[0].Spans) != 1 {
		t.Fatalf("not one span: %v", got)
	}
	resource, scope := got.ResourceSpans[0].Resource, got.ResourceSpans[0].ScopeSpans[0]
	about := map[string]string{}
	for _, a := range resource.Attributes {
		about[a.Key] = a.Value.GetStringValue()
	}
	if about["service.name"] != service || about["service.version"] != "9,1" || about["deployment.environment.name"] != "test" || about["telemetry.sdk.language"] != "go" {
		t.Errorf("resource %v", about)
	}
	s := scope.Spans[0]
	traceID, spanID := made.TraceID(), made.SpanID()
	if !bytes.Equal(s.TraceId, traceID[:]) || !bytes.Equal(s.SpanId, spanID[:]) {
		t.Errorf("ids %x, %x", s.TraceId, s.SpanId)
	}
	s.TraceId, s.SpanId = nil, nil
	b, err := protojson.Marshal(scope)
	if err != nil {
		t.Fatal(err)
	}
	if text, want := compact(t, string(b)), compact(t, wantSpan); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestRetries: a batch is sent again as OTLP says, not before the time that the collector names,
// and within the SDK's time for a batch.
func TestRetries(t *testing.T) {
	refused := func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }
	hangs := func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }
	ok := status(200, "")
	for name, c := range map[string]struct {
		answers []answer // the last one for ever
		calls   int64    // -1: several
		atLeast time.Duration
		lost    string // in the log
	}{
		"answered":                  {[]answer{ok}, 1, 0, ""},
		"busy":                      {[]answer{status(503, ""), ok}, 2, firstPause / 2, ""},
		"all temporary":             {[]answer{status(429, ""), status(502, ""), status(504, ""), ok}, 4, firstPause, ""},
		"with a wish":               {[]answer{status(429, "7"), ok}, 2, 7 * time.Second, ""},
		"with a date":               {[]answer{status(503, "Sat, 01 Jan 2000 00:00:09 GMT"), ok}, 2, 9 * time.Second, ""},
		"wish beyond the time":      {[]answer{status(503, "60"), ok}, 1, 0, "it answered 503"},
		"no connection":             {[]answer{refused, ok}, 2, firstPause / 2, ""},
		"never":                     {[]answer{refused}, -1, 5 * time.Second, "connection refused"},
		"hangs":                     {[]answer{hangs}, -1, 20 * time.Second, "it did not answer within 10s"},
		"bad request":               {[]answer{status(400, ""), ok}, 1, 0, `it answered 400: \"no such tenant\"`},
		"unauthorised":              {[]answer{status(401, ""), ok}, 1, 0, "it answered 401"},
		"internal error":            {[]answer{status(500, ""), ok}, 1, 0, "it answered 500"},
		"redirected":                {[]answer{status(307, ""), ok}, 1, 0, "it answered 307"},
		"rejected in part":          {[]answer{rejects(1, "too old"), ok}, 1, 0, `lost_spans=1 error="it answered 200: it rejected 1 spans: \"too old\"`},
		"rejects what was not sent": {[]answer{rejects(math.MaxInt64, strings.Repeat("x", 5000)), ok}, 1, 0, "lost_spans=2 "},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:secret@localhost:4318/?key=secret")
			synctest.Test(t, func(t *testing.T) {
				traces, calls, logged := fake(t, c.answers...)
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // as the SDK does
				defer cancel()
				if err := traces.exporter.ExportSpans(ctx, tracetest.SpanStubs{{Name: "a"}, {Name: "b"}}.Snapshots()); err != nil {
					t.Error(err)
				}
				if n := calls.Load(); n != c.calls && (c.calls >= 0 || n < 2) {
					t.Errorf("%d calls", n)
				}
				if took := time.Since(begun); took < c.atLeast || took > 30*time.Second || c.calls == 1 && took > 0 {
					t.Errorf("it took %v", took)
				}
				if text := logged.String(); !strings.Contains(text, c.lost) || c.lost == "" && strings.Contains(text, "lost") || strings.Contains(text, "secret") || len(text) > 2000 {
					t.Errorf("the log is\n%s", text)
				}
				traces.Close(t.Context())
			})
		})
	}
}

// TestDeadCollector: requests never wait for a collector that never answers; it is logged seldom,
// and its return once; the end takes no longer than the caller allows.
func TestDeadCollector(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:secret@dead:4318/?key=secret")
	synctest.Test(t, func(t *testing.T) {
		var lives atomic.Bool
		traces, _, logged := fake(t, func(r *http.Request) (*http.Response, error) {
			if lives.Load() {
				return status(200, "")(r)
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		begun := time.Now()
		for range 10_000 { // more than the queue holds
			makeSpan(traces)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("spans waited %v", took)
		}
		for range 60 {
			time.Sleep(time.Minute)
			makeSpan(traces)
		}
		if n := strings.Count(logged.String(), "traces are lost"); n < 2 || n > 13 {
			t.Errorf("%d warnings in an hour:\n%s", n, logged.String())
		}
		lives.Store(true)
		for range 3 {
			time.Sleep(time.Minute)
			makeSpan(traces)
		}
		if n := strings.Count(logged.String(), "traces arrive again"); n != 1 {
			t.Errorf("the return is logged %d times", n)
		}
		lives.Store(false)
		makeSpan(traces)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun = time.Now()
		traces.Close(ctx)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		if strings.Contains(logged.String(), "secret") {
			t.Errorf("the log has secrets: %s", logged.String())
		}
	})
}

// TestCloseFlushes: at the end what waits for its next try, and what is in the queue, is sent at
// once, and once only.
func TestCloseFlushes(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	synctest.Test(t, func(t *testing.T) {
		traces, calls, logged := fake(t, status(503, "20"))
		makeSpan(traces)
		time.Sleep(6 * time.Second) // the batch waits for its second try
		makeSpan(traces)
		begun := time.Now()
		traces.Close(t.Context())
		if took := time.Since(begun); took != 0 || calls.Load() != 3 {
			t.Errorf("the end took %v, there were %d calls", took, calls.Load())
		}
		if n := strings.Count(logged.String(), "lost_spans=2"); n != 1 {
			t.Errorf("the log is\n%s", logged.String())
		}
	})
}

// answer is what a collector answers.
type answer = func(*http.Request) (*http.Response, error)

func respond(code int, header http.Header, body []byte) (*http.Response, error) {
	header.Set("Content-Type", "application/x-protobuf")
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(body))}, nil
}

// status answers with a status and a google.rpc.Status that has the message, as collectors do.
func status(code int, after string) answer {
	return func(*http.Request) (*http.Response, error) {
		body := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 3)
		body = protowire.AppendString(protowire.AppendTag(body, 2, protowire.BytesType), "no such tenant")
		if code == 200 {
			body = nil
		}
		header := http.Header{"Location": {"http://elsewhere/"}}
		if after != "" {
			header.Set("Retry-After", after)
		}
		return respond(code, header, body)
	}
}

// rejects answers that some spans of a batch were not taken.
func rejects(spans int64, message string) answer {
	return func(*http.Request) (*http.Response, error) {
		body, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: spans, ErrorMessage: message}})
		if err != nil {
			return nil, err
		}
		return respond(200, http.Header{}, body)
	}
}

type roundTripper answer

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fake starts traces to a collector that gives the answers in turn, and the last one for ever.
func fake(t *testing.T, answers ...answer) (traces *Traces, calls *atomic.Int64, logged *log) {
	logged, calls = &log{}, &atomic.Int64{}
	traces, err := Start(t.Context(), "idbuilder", "1", slog.New(slog.NewTextHandler(logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	traces.exporter.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		n := int(calls.Add(1))
		return answers[min(n, len(answers))-1](r)
	})
	return traces, calls, logged
}

// log is a log that may be read while it is written.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// compact returns JSON without blanks, which protojson puts at random.
func compact(t *testing.T, text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wantSpan is the span of makeSpan as JSON, without its ids.
const wantSpan = `{"scope":{"name":"tests","version":"3"},"spans":[{
"traceState":"a=b","parentSpanId":"AwAAAAAAAAA=","flags":769,"name":"GET /a","kind":"SPAN_KIND_SERVER","startTimeUnixNano":"100000000001",
"endTimeUnixNano":"102000000003",
"attributes":[
{"key":"bool","value":{"boolValue":true}},
{"key":"int","value":{"intValue":"-1"}},
{"key":"float","value":{"doubleValue":0.5}},
{"key":"text","value":{"stringValue":"not UTF-8: �"}},
{"key":"texts","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}},
{"key":"ints","value":{"arrayValue":{"values":[{"intValue":"1"},{"intValue":"2"}]}}},
{"key":"bools","value":{"arrayValue":{"values":[{"boolValue":true}]}}},
{"key":"floats","value":{"arrayValue":{"values":[{"doubleValue":2.5}]}}}],
"events":[{"timeUnixNano":"101000000000","name":"event","attributes":[{"key":"k","value":{"stringValue":"v"}}]}],
"links":[{"traceId":"AQIAAAAAAAAAAAAAAAAAAA==","spanId":"AwAAAAAAAAA=","attributes":[{"key":"linked","value":{"boolValue":true}}],"flags":769}],
"status":{"message":"it failed","code":"STATUS_CODE_ERROR"}}]}`
