// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// TestAccess: what admin tokens, key tokens and others permit, with both forms of the header.
func TestAccess(t *testing.T) { synctest.Test(t, testAccess) }

func testAccess(t *testing.T) {
	s := start(t, options())
	for _, key := range []string{"a", "b"} {
		s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "`+key+`", "base": 0}`)
	}
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "own", "base": 0, "key_token_enable": true}`)
	a := s.sendAsAdmin("GET", "/v1/auth/token?key=a", "").data["token"].(string)
	global := s.sendAsAdmin("GET", "/v1/auth/token?key=__global__", "").data["token"].(string)
	if len(a) != 64 {
		t.Errorf("the token has %d characters, clients of the deployed worker know 64", len(a))
	}
	for _, c := range []struct {
		method, target, header string
		status, code           int
	}{
		{"GET", "/v1/auth/verify", "", 401, 2001},
		{"GET", "/v1/auth/verify", "Bearer wrong", 401, 2001},
		{"GET", "/v1/auth/verify", "Bearer " + adminToken, 200, 0},
		{"GET", "/v1/auth/verify", adminToken, 200, 0},
		{"GET", "/v1/auth/verify", "bearer " + adminToken, 200, 0},
		{"GET", "/v1/auth/verify", "Basic " + adminToken, 401, 2001},
		{"GET", "/v1/auth/verify", "Bearer " + a, 403, 2002},
		{"GET", "/v1/auth/token?key=a", "Bearer " + a, 403, 2002},
		{"GET", "/v1/auth/tokenreset?key=a", a, 403, 2002},
		{"GET", "/v1/config/list", a, 403, 2002},
		{"POST", "/v1/config/increment", a, 403, 2002},
		{"GET", "/v1/config/increment?key=a", a, 403, 2002},
		{"DELETE", "/v1/config/increment?key=a", a, 403, 2002},
		{"GET", "/v1/id/increment?key=a", "", 401, 2001},
		{"GET", "/v1/id/increment?key=a", "Bearer " + a, 200, 0},
		{"GET", "/v1/id/increment?key=a", a, 200, 0},
		{"GET", "/v1/id/increment?key=b", a, 403, 2002},
		{"GET", "/v1/id/increment?key=none", a, 403, 2002},
		{"GET", "/v1/id/increment?key=b", adminToken, 200, 0},
		{"GET", "/v1/id/increment?key=b", global, 200, 0},
		{"GET", "/v1/id/increment?key=own", global, 403, 2002},
		{"GET", "/v1/auth/verify", global, 403, 2002},
		{"GET", "/v1/auth/token?key=none", adminToken, 200, 0},
		{"GET", "/v1/auth/token", adminToken, 400, 1001},
		{"GET", "/v1/auth/token?key=__global__&size=1", adminToken, 400, 1001},
		{"GET", "/v1/auth/token?key=__admin__", adminToken, 400, 1002},
		{"GET", "/v1/id/increment?key=__global__", adminToken, 404, 3001},
		{"GET", "/v1/unknown", adminToken, 404, 1001},
		{"PUT", "/v1/config/increment", adminToken, 405, 1001},
	} {
		got := s.send(c.method, c.target, c.header, `{"key": "c", "base": 1}`)
		if got.status != c.status || got.code != c.code {
			t.Errorf("%s %s as %q: %d %s, want %d and code %d", c.method, c.target, c.header, got.status, got.text, c.status, c.code)
		}
		if got.status == 401 && got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", c.target)
		}
		if strings.Contains(got.text, adminToken) || strings.Contains(got.text, a) {
			t.Errorf("%s prints a token: %s", c.target, got.text)
		}
	}
}

// TestTokens checks /v1/auth/token and tokenreset: a key keeps its token until a reset,
// and after it no worker accepts an older one.
func TestTokens(t *testing.T) { synctest.Test(t, testTokens) }

func testTokens(t *testing.T) {
	shared := storetest.Memory(t)
	s, other := startOn(t, shared, options()), startOn(t, shared, options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "a", "base": 0}`)
	first := s.sendAsAdmin("GET", "/v1/auth/token?key=a", "").data
	again := other.sendAsAdmin("GET", "/v1/auth/token?key=a", "").data
	if first["token"] != again["token"] || first["key"] != "a" || first["token_type"] != "key" {
		t.Errorf("%v, then %v", first, again)
	}
	if expires, err := time.Parse(time.RFC3339, fmt.Sprint(first["expires_at"])); err != nil || expires.Sub(options().Now()) < 29*24*time.Hour {
		t.Errorf("it expires at %v", first["expires_at"])
	}
	old := first["token"].(string)
	for range 20 {
		for _, w := range []service{s, other} {
			if a := w.send("GET", "/v1/id/increment?key=a", old, ""); a.status != 200 {
				t.Fatal(a.text)
			}
		}
		next := s.sendAsAdmin("GET", "/v1/auth/tokenreset?key=a", "").data["token"].(string)
		for _, w := range []service{other, s} {
			if a := w.send("GET", "/v1/id/increment?key=a", old, ""); a.status != 401 || a.code != 2001 {
				t.Fatalf("after the reset, the old token gets %s", a.text)
			}
			if a := w.send("GET", "/v1/id/increment?key=a", next, ""); a.status != 200 {
				t.Fatal(a.text)
			}
		}
		old = next
	}
}

// TestRateLimit: each token has a limit of its own, and a refusal says when to ask again.
func TestRateLimit(t *testing.T) { synctest.Test(t, testRateLimit) }

func testRateLimit(t *testing.T) {
	o := options()
	o.Rate, o.Burst = 2, 3
	s := start(t, o)
	header := http.Header{}
	ask := func(key string) answer { return s.send("GET", "/v1/id/increment?key="+key, header.Get(key), "") }
	for _, key := range []string{"a", "b"} {
		time.Sleep(10 * time.Second) // the admin's limit
		s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "`+key+`", "base": 0}`)
		header.Set(key, s.sendAsAdmin("GET", "/v1/auth/token?key="+key, "").data["token"].(string))
	}
	for i := range 4 {
		a := ask("a")
		if limited := i == 3; (a.status == http.StatusTooManyRequests) != limited || limited && (a.header.Get("Retry-After") != "1" || a.code != 4002) {
			t.Errorf("request %d: %d %v %s", i+1, a.status, a.header, a.text)
		}
	}
	if a := ask("b"); a.status != http.StatusOK {
		t.Errorf("another token: %s", a.text)
	}
	time.Sleep(500 * time.Millisecond)
	if a, b := ask("a"), ask("a"); a.status != http.StatusOK || b.status != http.StatusTooManyRequests {
		t.Errorf("half a second later: %d, %d", a.status, b.status)
	}
}

// TestIdempotencyKey: a request that is repeated gets the same answer for ten minutes,
// from any worker; another request with the key is refused.
func TestIdempotencyKey(t *testing.T) { synctest.Test(t, testIdempotencyKey) }

func testIdempotencyKey(t *testing.T) {
	c := &clock{now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
	o := options()
	o.Now = c.Now
	shared := storetest.Memory(t)
	s, other := startOn(t, shared, o), startOn(t, shared, o)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "a", "base": 0}`)
	ask := func(w service, query, key string) answer {
		return w.send("GET", "/v1/id/increment?"+query, adminToken, "", "Idempotency-Key", key)
	}
	first := ask(s, "key=a&size=2", "one")
	for _, w := range []service{s, other, s} {
		if again := ask(w, "key=a&size=2", "one"); again.text != first.text || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("first %s, then %s", first.text, again.text)
		}
	}
	if a := ask(s, "key=a&size=2", "two"); a.text == first.text || a.code != 0 {
		t.Errorf("another key: %s", a.text)
	}
	if a := ask(s, "key=a&size=3", "one"); a.code != 1001 || !strings.Contains(a.message, "Idempotency-Key") {
		t.Errorf("another request: %s", a.text)
	}
	if a := ask(s, "key=a", strings.Repeat("x", 256)); a.code != 1001 {
		t.Errorf("a long key: %s", a.text)
	}
	c.set(c.now.Add(10 * time.Minute))
	if a := ask(other, "key=a&size=2", "one"); a.text == first.text || a.code != 0 {
		t.Errorf("ten minutes later: %s", a.text)
	}
	results := make(chan string, 16)
	for i := range 16 {
		go func() { results <- ask([]service{s, other}[i%2], "key=a", "race").text }()
	}
	race := <-results
	for range 15 {
		if text := <-results; text != race {
			t.Errorf("at once: %s and %s", race, text)
		}
	}
}

// TestFormats repeats the answers to requests with an Idempotency-Key, and renews the lease of
// one, on what workers of earlier versions stored, and stores the same.
func TestFormats(t *testing.T) {
	kinds := []store.Kind{store.Configs, store.Leases, store.Replies}
	ask := func(s service, of string) answer {
		return s.send("GET", "/v1/id/"+of, adminToken, "", "Idempotency-Key", "boot")
	}
	formats.Check(t, formats.Format{
		Name: "idbuilder/replies",
		Write: func(t *testing.T) (example string) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, options())
				s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "a", "base": 1000}`)
				s.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "k", "base_ts": 1767225600000, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`)
				ask(s, "increment?key=a&size=2")
				ask(s, "snowflake?key=k&renews=true")
				example = storetest.Dump(t, s.store, kinds...)
			})
			return example
		},
		Mask: func(_ *testing.T, example string) string {
			example = regexp.MustCompile(`\.[0-9a-f]{16}-\d+ - - .*`).ReplaceAllString(example, ".<page>") // package snowflake has examples of it
			return regexp.MustCompile(`"worker_id":\d+,|"lease_key":"\d+\.1795359845000\.[0-9a-f]{32}"`).ReplaceAllString(example, "<lease>")
		},
		Read: func(t *testing.T, example string) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, options())
				storetest.Load(t, s.store, example)
				if a := ask(s, "increment?key=a&size=2"); strings.Join(a.ids(t), " ") != "1001 1002" || a.header.Get("Idempotency-Replayed") != "true" {
					t.Errorf("the answer is %v, %s", a.header, a.text)
				}
				time.Sleep(time.Minute)
				a := ask(s, "snowflake?key=k&renews=true")
				if !strings.Contains(example, fmt.Sprint(a.data["lease_key"])) {
					t.Errorf("the lease was not renewed: %s", a.text)
				}
			})
		},
	})
}

// TestHeaders checks the headers that all answers have.
func TestHeaders(t *testing.T) { synctest.Test(t, testHeaders) }

func testHeaders(t *testing.T) {
	var logged bytes.Buffer
	o := options()
	o.CompressFrom, o.Logger = 1000, slog.New(slog.NewTextHandler(&logged, nil))
	s := start(t, o)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "a", "base": 0}`)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	a := s.send("GET", "/v1/id/increment?key=a", adminToken, "", "Traceparent", "00-"+trace+"-b7ad6b7169203331-01", "Accept-Encoding", "gzip")
	if a.header.Get("X-Trace-Id") != trace || a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Content-Encoding") != "" {
		t.Errorf("the headers are %v", a.header)
	}
	for _, bad := range []string{"", "00-zz-b7ad6b7169203331-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "junk"} {
		if id := s.send("GET", "/health", "", "", "Traceparent", bad).header.Get("X-Trace-Id"); len(id) != 32 || id == trace || id == strings.Repeat("0", 32) {
			t.Errorf("traceparent %q: the trace is %q", bad, id)
		}
	}
	s.send("GET", "/v1/id/increment?key=none", adminToken, "", "Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	if text := logged.String(); !strings.Contains(text, "trace_id="+trace) || !strings.Contains(text, "code=3001") || strings.Contains(text, adminToken) {
		t.Errorf("the log is %s", text)
	}
	for accept, compressed := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "": false, "identity": false} {
		a := s.send("GET", "/v1/id/increment?key=a&size=1000", adminToken, "", "Accept-Encoding", accept)
		if (a.header.Get("Content-Encoding") == "gzip") != compressed {
			t.Errorf("Accept-Encoding %q: %v", accept, a.header)
		}
		if compressed {
			z, err := gzip.NewReader(strings.NewReader(a.text))
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(z); err != nil || !bytes.HasPrefix(b, []byte(`{"code":0`)) || !bytes.HasSuffix(b, []byte(`]}}`)) {
				t.Error(err, string(b))
			}
		} else if a.header.Get("Content-Length") != strconv.Itoa(len(a.text)) {
			t.Errorf("Content-Length is %v for %d bytes", a.header, len(a.text))
		}
	}
}

// TestOutage: while the store is down, or does not answer, a worker gives the numbers in its
// memory to tokens that it knows, says so in a header and in metrics, and refuses the rest; after
// [Options.Outage] it refuses all. No number is given twice.
func TestOutage(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{
		"down":  {Fail: true, Err: errors.New("the disk is gone")},
		"hangs": {Fail: true, Before: func(ctx context.Context) { <-ctx.Done() }},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testOutage(t, fault) }) })
	}
}

func testOutage(t *testing.T, fault storetest.Fault) {
	var down atomic.Bool
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(storetest.Call) storetest.Fault {
		if down.Load() {
			return fault
		}
		return storetest.Fault{}
	}), options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "a", "base": 0}`)
	s.sendAsAdmin("POST", "/v1/config/formatted", `{"key": "f", "parts": [{"type": "fixed-chars", "value": "F"}, {"type": "auto-increment"}]}`)
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "unused", "base": 0}`)
	s.sendAsAdmin("POST", "/v1/config/snowflake", `{"key": "s", "base_ts": 0, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`)
	key, _ := s.sendAsAdmin("GET", "/v1/auth/token?key=a", "").data["token"].(string)
	take := func(target, token string) answer { return s.send("GET", target, token, "") }
	take("/v1/id/formatted?key=f", adminToken)
	take("/v1/id/snowflake?key=s", adminToken)
	for range 10 {
		take("/v1/id/increment?key=a", key)
	}
	time.Sleep(2 * time.Minute) // longer than a configuration or a token is used without a read
	down.Store(true)
	var last int
	for i := range 5 { // once in the last second of the revision, then in the outage
		a := take("/v1/id/increment?key=a", key)
		if a.status != http.StatusOK || a.ids(t)[0] != strconv.Itoa(11+i) {
			t.Fatalf("in the outage, after %d answers: %d %s", i, a.status, a.text)
		}
		if last, _ = strconv.Atoi(a.header.Get("Storage-Outage")); i > 0 && last == 0 {
			t.Errorf("the header says %q", a.header.Get("Storage-Outage"))
		}
		time.Sleep(41 * time.Second)
	}
	if a := take("/v1/id/formatted?key=f", adminToken); a.status != http.StatusOK || a.ids(t)[0] != "F2" {
		t.Errorf("a formatted key: %d %s", a.status, a.text)
	}
	for _, line := range []string{"idbuilder_storage_outage_seconds 2", "idbuilder_requests_in_outage_total 6\n"} {
		if metrics := take("/metrics", "").text; !strings.Contains(metrics, "\n"+line) {
			t.Errorf("/metrics has no %s:\n%s", line, metrics)
		}
	}
	for target, token := range map[string]string{
		"/v1/id/increment?key=unused": adminToken, "/v1/id/snowflake?key=s": adminToken, "/v1/id/increment?key=a": "an unknown token",
		"/v1/config/list": adminToken, "/v1/id/increment?key=a&size=1000": key, "/ready": "",
	} {
		if a := take(target, token); a.status != 503 || a.code != 4002 {
			t.Errorf("%s: %d %s", target, a.status, a.text)
		}
	}
	time.Sleep(2 * time.Minute)
	if a := take("/v1/id/increment?key=a", key); a.status != 503 || a.code != 4002 {
		t.Errorf("after five minutes: %d %s", a.status, a.text)
	}
	down.Store(false)
	time.Sleep(2 * time.Second)
	a := take("/v1/id/increment?key=a", key)
	if a.status != http.StatusOK || a.header.Get("Storage-Outage") != "" {
		t.Errorf("after the outage: %v %s", a.header, a.text)
	} else if id, _ := strconv.Atoi(a.ids(t)[0]); id < 16 {
		t.Errorf("after the outage comes %d again", id)
	}
	if a := take("/ready", ""); a.status != 200 || a.data["ready"] != true {
		t.Errorf("/ready says %s", a.text)
	}
	checkMetrics(t, s)
}

// TestNoOutage: with a negative [Options.Outage], after a loss of data, and after a newer
// program has migrated the store, a worker gives nothing from memory.
func TestNoOutage(t *testing.T) {
	for err, outage := range map[error]time.Duration{errors.New("the disk is gone"): -1, store.ErrLost: time.Hour, store.NewerSchema(2, 1): time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var down atomic.Bool
			o := options()
			o.Outage = outage
			s := startOn(t, storetest.Faulty(storetest.Memory(t), func(storetest.Call) storetest.Fault {
				return storetest.Fault{Fail: down.Load(), Err: err}
			}), o)
			s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "a", "base": 0}`)
			s.sendAsAdmin("GET", "/v1/id/increment?key=a", "")
			down.Store(true)
			time.Sleep(2 * time.Second)
			s.wantRefusal("GET", "/v1/id/increment?key=a", "", 503, 4002, "")
		})
	}
}

// TestReadyWithoutController: a worker that has lost all controllers is not ready only if the
// options say so.
func TestReadyWithoutController(t *testing.T) {
	for required, status := range map[bool]int{false: 200, true: 503} {
		hooks := worker.Hooks{
			ControllerRequired: required,
			Controller:         func() controller.State { return controller.State{Note: "lost"} },
		}
		a := startWith(t, storetest.Memory(t), options(), hooks).send("GET", "/ready", "", "")
		if components, _ := a.data["components"].(map[string]any); a.status != status || components["controller"] != false || !strings.Contains(a.text, `"controller":"lost"`) {
			t.Errorf("required %v: %d %s", required, a.status, a.text)
		}
	}
}

// checkMetrics compares /metrics with the specification's table.
func checkMetrics(t *testing.T, s service) {
	metrics := s.send("GET", "/metrics", "", "").text
	for _, line := range []string{
		`idbuilder_up 1`, `idbuilder_requests_total{id_type="increment",key="a"} `, `idbuilder_storage_errors_total{backend="embedded",operation="revision"} `,
		`idbuilder_request_duration_seconds_count{id_type="increment",key="a"} `, `idbuilder_sequence_current{key="a"} `, `idbuilder_cache_remaining{key="a"} `,
	} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("/metrics has no %s:\n%s", line, metrics)
		}
	}
}

// TestTimeLimit: a request that waits for the store is answered in time, and the
// requests that wait with it are served once the store answers.
func TestTimeLimit(t *testing.T) { synctest.Test(t, testTimeLimit) }

func testTimeLimit(t *testing.T) {
	var hung atomic.Bool
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(storetest.Call) storetest.Fault {
		if !hung.Load() {
			return storetest.Fault{}
		}
		return storetest.Fault{Before: func(ctx context.Context) { <-ctx.Done() }, Fail: true}
	}), options())
	s.sendAsAdmin("POST", "/v1/config/increment", `{"key": "a", "base": 0}`)
	hung.Store(true)
	time.Sleep(2 * time.Second)
	for _, target := range []string{"/v1/id/increment?key=a", "/v1/config/list", "/v1/config/increment?key=a", "/ready"} {
		begun := time.Now()
		if a := s.send("GET", target, adminToken, ""); a.status != 503 || a.code != 4002 || time.Since(begun) > 30*time.Second {
			t.Errorf("%s: %d %s after %v", target, a.status, a.text, time.Since(begun))
		} else if over := time.Since(begun) == 30*time.Second; strings.Contains(a.message, "time limit, 30s") != over {
			t.Errorf("%s: after %v: %s", target, time.Since(begun), a.message)
		}
	}
	hung.Store(false)
	time.Sleep(time.Second)
	s.sendAsAdmin("GET", "/v1/id/increment?key=a", "")
}
