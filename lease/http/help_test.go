// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/lease/memory"

	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

const secret = "a-secret-of-23-letters!"

// serve serves a provider by TLS, and returns a client of it.
func serve(t *testing.T, provider idgen.LeaseProvider, options leasehttp.HandlerOptions) *leasehttp.Client {
	t.Helper()
	server := httptest.NewTLSServer(handler(t, provider, options))
	t.Cleanup(server.Close)
	return client(t, leasehttp.ClientOptions{URL: server.URL, Token: secret, Transport: server.Client().Transport})
}

func handler(t testing.TB, provider idgen.LeaseProvider, options leasehttp.HandlerOptions) *leasehttp.Handler {
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

func newMemory(t testing.TB) *memory.Provider {
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
