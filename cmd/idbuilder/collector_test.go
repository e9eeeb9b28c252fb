// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is a collector of OpenTelemetry that keeps what it gets, as lines of text.
type collector struct {
	mu    sync.Mutex
	lines []string
}

// collectorKey is the key of a script's collector.
type collectorKey struct{}

// collect starts a collector, and puts its URL into the variable COLLECTOR: collector.
func collect(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: collector")
	}
	c := httptest.NewServer(ts.Value(collectorKey{}).(*collector))
	ts.Defer(c.Close)
	ts.Setenv("COLLECTOR", c.URL)
}

// ServeHTTP implements [http.Handler]. As a collector does, it refuses what is not OTLP's
// protobuf at its path.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var got collectorpb.ExportTraceServiceRequest
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, &got) != nil {
		http.Error(w, "the body is not an export of traces", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range got.ResourceSpans {
		about := attributesOf(of.Resource.Attributes)
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.lines = append(c.lines, lineOf(s, about, r.Header.Get("Api-Key")))
			}
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // of an empty answer
}

// lineOf describes a span.
func lineOf(s *tracepb.Span, about map[string]string, key string) string {
	attributes := attributesOf(s.Attributes)
	return fmt.Sprintf("%s: %s %s, trace %x, parent %x, path %s, status %s, %v, in time %v, api-key %s", about["service.name"], s.Kind, s.Name, s.TraceId, s.ParentSpanId,
		attributes["url.path"], attributes["http.response.status_code"], s.Status.GetCode(), 0 < s.StartTimeUnixNano && s.StartTimeUnixNano < s.EndTimeUnixNano, key)
}

func attributesOf(list []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Key] = a.Value.GetStringValue()
		if n, ok := a.Value.Value.(*commonpb.AnyValue_IntValue); ok {
			all[a.Key] = fmt.Sprint(n.IntValue)
		}
	}
	return all
}

// showSpans writes a line for each span that has come to a file: spans FILE.
func showSpans(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: spans file")
	}
	c := ts.Value(collectorKey{}).(*collector)
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.lines)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(c.lines, "\n")), 0o600))
}
