// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
)

// TestRequestLog: at the level debug each request is logged with its answer and its trace, without
// tokens; by default answers of at least 1 KiB are compressed.
func TestRequestLog(t *testing.T) {
	var logged bytes.Buffer
	o := options()
	o.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := start(t, o)
	if a := s.sendAsAdmin("POST", "/v1/config/increment", `{"name": "a", "start": 1, "step": 1, "min": 1, "max": 1000000}`); a.text != `{"code":0,"message":"success"}` {
		t.Errorf("the deployed worker's clients get %s", a.text)
	}
	a := s.send("GET", "/v1/id/increment?key=a&size=200", adminToken, "", "Accept-Encoding", "gzip")
	if a.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%d bytes are not compressed", len(a.text))
	}
	s.send("GET", "/v1/id/increment?key=none", adminToken, "")
	for _, want := range []string{"method=POST path=/v1/config/increment", "path=/v1/id/increment key=a status=200 bytes=", "key=none status=404", "trace_id=" + a.header.Get("X-Trace-Id")} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, logged.String())
		}
	}
	if strings.Contains(logged.String(), adminToken) {
		t.Error("the log has the token")
	}
}

// TestAuditLog: the log says what admins did through the API, from where and in which trace, and not
// the tokens that they got.
func TestAuditLog(t *testing.T) {
	var logged bytes.Buffer
	o := options()
	o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
	s := start(t, o)
	for _, action := range []struct{ method, target, body, want string }{
		{"POST", "/v1/config/increment", `{"key": "k", "base": 0}`, "an admin set a configuration"},
		{"GET", "/v1/auth/token?key=k", "", "showed a token to an admin"},
		{"GET", "/v1/auth/tokenreset?key=k", "", "an admin reset a token"},
		{"DELETE", "/v1/config/increment?key=k", "", "an admin deleted a configuration"},
		{"GET", "/v1/config/list", "", ""},
	} {
		logged.Reset()
		a := s.sendAsAdmin(action.method, action.target, action.body)
		want := "key=k remote=192.0.2.1:1234 trace_id=" + a.header.Get("X-Trace-Id")
		if line := logged.String(); action.want != "" && (!strings.Contains(line, action.want) || !strings.Contains(line, want)) || action.want == "" && line != "" {
			t.Errorf("%s %s: the log is %q, want %q", action.method, action.target, line, want)
		}
		if text, ok := a.data["token"].(string); ok && strings.Contains(logged.String(), text) {
			t.Errorf("%s %s: the log has the token", action.method, action.target)
		}
	}
}

// TestLogOfLongRequests: a request writes little to the log, however long its path, its method and its
// key are, and whoever sends it.
func TestLogOfLongRequests(t *testing.T) {
	var logged bytes.Buffer
	o := options()
	o.Logger = slog.New(slog.NewJSONHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := start(t, o)
	long := strings.Repeat("%01", 20_000)
	for _, request := range []struct{ method, target string }{
		{"GET", "/" + long}, {"GET", "/v1/id/increment?key=" + long}, {strings.Repeat("M", 60_000), "/v1/id/increment"}, {"GET", "/v1/id/increment?key=k&" + long + "=1"},
	} {
		for _, text := range []string{"", adminToken} {
			logged.Reset()
			s.send(request.method, request.target, text, "")
			if n := logged.Len(); n > 8_000 || !strings.Contains(logged.String(), "trace_id") {
				t.Errorf("%.10s %.30s: %d bytes of log", request.method, request.target, n)
			}
		}
	}
}

// TestSpans: with a tracer each request has a span, of a few names whatever clients send, the
// child of the client's; a failure of the service is an error, what a client does wrong is none.
func TestSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	o := options()
	o.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	var down atomic.Bool
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(storetest.Call) storetest.Fault { return storetest.Fault{Fail: down.Load()} }), o)
	s.send("GET", "/v1/id/increment?key=none", adminToken, "", "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	s.send("DELETE", "/v1//%ff?key="+url.QueryEscape(adminToken), "", "")
	s.send("BREW", "/coffee", "", "")
	down.Store(true)
	s.send("GET", "/v1/config/list", adminToken, "")
	var got []string
	for _, span := range recorder.Ended() {
		got = append(got, fmt.Sprintf("%s %v %v %v", span.Name(), span.SpanKind(), span.Parent().SpanID(), span.Status().Code))
		if text := fmt.Sprint(span.Attributes()); strings.Contains(text, adminToken) {
			t.Errorf("a span has the token: %s", text)
		}
	}
	const none = " server 0000000000000000 "
	if want := []string{"GET /v1/id/increment server b7ad6b7169203331 Unset", "DELETE" + none + "Unset", "HTTP" + none + "Unset", "GET /v1/config/list" + none + "Error"}; !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
