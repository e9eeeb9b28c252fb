// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/lease/memory"
)

const secret = "a-secret-of-23-letters!"

// serve serves a provider by TLS, and returns a client of it.
func serve(t *testing.T, provider idgen.LeaseProvider, options leasehttp.HandlerOptions) *leasehttp.Client {
	t.Helper()
	server := httptest.NewTLSServer(handler(t, provider, options))
	t.Cleanup(server.Close)
	return client(t, leasehttp.ClientOptions{URL: server.URL, Token: secret, Transport: server.Client().Transport})
}

func handler(t testing.TB, provider idgen.LeaseProvider, options leasehttp.HandlerOptions) http.Handler {
	t.Helper()
	if options.Tokens == nil {
		options.Tokens = []leasehttp.Token{{Name: "test", Secret: secret, List: true}}
	}
	h, err := leasehttp.NewHandler(provider, options)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func client(t *testing.T, options leasehttp.ClientOptions) *leasehttp.Client {
	t.Helper()
	c, err := leasehttp.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newMemory(t testing.TB) *lease.Server {
	t.Helper()
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

// faultyProvider is a provider that returns one error.
type faultyProvider struct{ err error }

func (f faultyProvider) Acquire(context.Context, idgen.AcquireRequest) ([]idgen.Lease, error) {
	return nil, f.err
}

func (f faultyProvider) Release(context.Context, idgen.ReleaseRequest) error { return f.err }

func (f faultyProvider) List(context.Context, string, lease.ListOptions) (lease.Page, error) {
	return lease.Page{}, f.err
}

func (f faultyProvider) Services(context.Context, string, int) ([]string, error) {
	return nil, errors.ErrUnsupported
}

// send sends a request to a handler, and checks what each answer must have.
func send(t testing.TB, h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), "GET", "/", strings.NewReader(body))
	req.Method = method
	req.URL.Path, req.URL.RawQuery, _ = strings.Cut(target, "?")
	req.Header.Set("Authorization", "Bearer "+secret)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res := httptest.NewRecorder()
	h.ServeHTTP(res, req)
	if got := res.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	if res.Code >= 300 {
		var problem struct{ Title, Detail, Code string }
		if err := json.Unmarshal(res.Body.Bytes(), &problem); err != nil || problem.Title == "" || problem.Code == "" || problem.Detail == "" {
			t.Errorf("%d has the body %q: %v", res.Code, res.Body, err)
		}
		if got := res.Header().Get("Content-Type"); got != "application/problem+json" {
			t.Errorf("%d has the type %q", res.Code, got)
		}
	}
	return res
}

// TestStore runs the suite with a server and a client between.
func TestStore(t *testing.T) {
	stores := map[string]*memory.Store{}
	leasetest.Run(t, leasetest.Suite{
		Open: func(_ *testing.T, name string) lease.Store {
			if stores[name] == nil {
				stores[name] = memory.NewStore(nil)
			}
			return stores[name]
		},
		Front: func(t *testing.T, server *lease.Server) idgen.LeaseProvider {
			return serve(t, server, leasehttp.HandlerOptions{})
		},
	})
}

// TestWire pins the protocol: the specification's section 7.1.
func TestWire(t *testing.T) {
	provider, err := memory.New(memory.Options{Now: func() time.Time { return time.UnixMilli(idgen.DefaultCustomEpoch + 1000) }})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, provider, leasehttp.HandlerOptions{})
	res := send(t, h, "POST", "/lease", `{"serviceId":"orders","meta":{"host":"a"},"throughputPerMs":300,"requestKey":"k"}`)
	var answer struct{ Leases []idgen.Lease }
	if err := json.Unmarshal(res.Body.Bytes(), &answer); err != nil || res.Code != 200 || len(answer.Leases) != 1 {
		t.Fatalf("%d %s: %v", res.Code, res.Body, err)
	}
	l := answer.Leases[0]
	want := fmt.Sprintf(`{"leases":[{"id":%d,"created":1767225601000,"expired":1767226201000,"secret":"%s","customEpoch":1767225600000,"bitReserve":1,"bitTs":41,"bitId":13,"bitSeq":9}]}`+"\n", l.ID, l.Secret)
	if diff := cmp.Diff(want, res.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	res = send(t, h, "GET", "/leases?serviceId=orders", "")
	want = fmt.Sprintf(`{"leases":[{"id":%d,"bitSeq":9,"created":"2026-01-01T00:00:01Z","expired":"2026-01-01T00:10:01Z","active":true,"meta":{"host":"a"}}]}`+"\n", l.ID)
	if diff := cmp.Diff(want, res.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	req := l.Release("orders", l.Created, time.UnixMilli(l.Created))
	body := fmt.Sprintf(`{"serviceId":"orders","bitSeq":9,"created":%d,"lastTs":%d,"timestamp":%d,"signature":%q}`, req.Created, req.LastTs, req.Timestamp, req.Signature)
	for range 2 {
		if res := send(t, h, "DELETE", fmt.Sprint("/lease/", l.ID), body); res.Code != http.StatusNoContent || res.Body.Len() != 0 {
			t.Errorf("%d %s", res.Code, res.Body)
		}
	}
}

// TestTimeout checks the answer while the store does not answer, and that the log has the error.
func TestTimeout(t *testing.T) {
	lines := make(lineWriter, 10)
	c := serve(t, hangingProvider{}, leasehttp.HandlerOptions{Timeout: time.Millisecond, Logger: slog.New(slog.NewTextHandler(lines, nil))})
	_, err := c.Acquire(t.Context(), idgen.AcquireRequest{})
	var status *leasehttp.StatusError
	if !errors.As(err, &status) || status.Status != http.StatusGatewayTimeout {
		t.Errorf("got %v, want 504", err)
	}
	select {
	case line := <-lines:
		if !strings.Contains(line, "deadline exceeded") {
			t.Errorf("the log has %s", line)
		}
	default:
		t.Error("the log has nothing")
	}
}

// lineWriter passes on what is written.
type lineWriter chan string

func (w lineWriter) Write(b []byte) (int, error) {
	w <- string(b)
	return len(b), nil
}

// hangingProvider is a provider that waits for the end of the context.
type hangingProvider struct{ faultyProvider }

func (hangingProvider) Acquire(ctx context.Context, _ idgen.AcquireRequest) ([]idgen.Lease, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestPath checks servers below a path.
func TestPath(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/ids/", http.StripPrefix("/ids", handler(t, newMemory(t), leasehttp.HandlerOptions{})))
	server := httptest.NewServer(mux)
	defer server.Close()
	c := client(t, leasehttp.ClientOptions{URL: server.URL + "/ids", Token: secret})
	leases, err := c.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	if page, err := c.List(t.Context(), "orders", lease.ListOptions{}); err != nil || len(page.Leases) != 1 {
		t.Errorf("listed %+v: %v", page, err)
	}
	if err := c.Release(t.Context(), leases[0].Release("orders", leases[0].Created, time.Now())); err != nil {
		t.Error(err)
	}
}

// FuzzHandler sends whatever it likes. Each answer is one that request accepts,
// and none but that of a grant has a secret in it.
func FuzzHandler(f *testing.F) {
	f.Add("POST", "/lease", `{"throughputPerMs":300,"requestKey":"k"}`, secret)
	f.Add("DELETE", "/lease/0", `{"bitSeq":8,"created":1,"lastTs":1,"timestamp":1,"signature":"00"}`, secret)
	f.Add("GET", "/leases?limit=2&after=00000000", ``, secret)
	f.Add("POST", "/lease", `{"serviceId":"a","meta":{"a":"\u0000"}}`, "")
	provider := newMemory(f)
	f.Fuzz(func(t *testing.T, method, target, body, token string) {
		h := handler(t, provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "t", Secret: secret, List: true, MaxLeased: 4096}}})
		res := send(t, h, method, target, body, "Authorization", "Bearer "+token)
		if res.Code >= 300 || method != "POST" {
			if strings.Contains(res.Body.String(), `"secret"`) {
				t.Errorf("%d tells a secret: %s", res.Code, res.Body)
			}
		}
		if res.Code == 500 {
			t.Errorf("%s", res.Body)
		}
	})
}
