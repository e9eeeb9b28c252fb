// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestClientTrustsNobody checks answers that are not those of a lease server,
// and that the token goes nowhere else.
func TestClientTrustsNobody(t *testing.T) {
	stolen := false
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen = true }))
	defer thief.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		},
		"html":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>welcome") },
		"nothing":  func(http.ResponseWriter, *http.Request) {},
		"no lease": func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"leases":[]}`) },
		"no json":  func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"leases":`) },
		"bad lease": func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, `{"leases":[{"id":8192,"created":1767225601000,"expired":1767226201000,"secret":"s","customEpoch":1767225600000,"bitReserve":1,"bitTs":41,"bitId":14,"bitSeq":8}]}`)
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for chunk := strings.Repeat(" ", 1<<16); ; {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		},
	} {
		server := httptest.NewServer(answer)
		c := client(t, leasehttp.ClientOptions{URL: server.URL, Token: secret})
		if leases, err := c.Acquire(t.Context(), idgen.AcquireRequest{}); err == nil {
			t.Errorf("%s: granted %v", name, leases)
		}
		server.Close()
	}
	if stolen {
		t.Error("a redirect was followed")
	}
}

func answerJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// TestClientDeadline checks that a call ends with its context, and with the
// client's timeout.
func TestClientDeadline(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer server.Close()
	defer close(hang)
	c := client(t, leasehttp.ClientOptions{URL: server.URL, Timeout: time.Millisecond})
	if _, err := c.Acquire(t.Context(), idgen.AcquireRequest{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the timeout: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client(t, leasehttp.ClientOptions{URL: server.URL}).Acquire(ctx, idgen.AcquireRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context: %v", err)
	}
}

func TestClientOptions(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://id.example.com": true, "https://id.example.com:8443/base/": true, "http://localhost:80": true, "http://[::1]:80": true,
		"http://id.example.com": false, "ftp://localhost": false, "https://": false, "https://user:pass@host": false, "https://host?a=b": false, ":": false, "": false,
	} {
		if err := (leasehttp.ClientOptions{URL: url}).Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", url, err)
		} else if err != nil && strings.Contains(err.Error(), "pass") && strings.Contains(err.Error(), "user:pass") {
			t.Errorf("%q: the password is in %v", url, err)
		}
	}
	if err := (leasehttp.ClientOptions{URL: "http://id.example.com", PlainHTTP: true}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestPasswordInTheURL gives URLs with a password, which are refused: neither the
// error nor the options as they are printed tell it.
func TestPasswordInTheURL(t *testing.T) {
	for _, url := range []string{"https://u:hunter2@h", "https://u:hunter2%zz@h", "https://u:hunter2/@h", "http://u:hunter2@h:bad"} {
		options := leasehttp.ClientOptions{URL: url}
		err := options.Validate()
		if text := fmt.Sprintf("%v %+v %#v", err, options, options); err == nil || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", url, text)
		}
	}
}

// TestServices lists services, to tokens that may list, those that they may
// lease for.
func TestServices(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "orders", "pay", "zoo"} {
		if _, err := provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: id}); err != nil {
			t.Fatal(err)
		}
	}
	handler, err := leasehttp.NewHandler(provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{
		{Name: "all", Secret: "0123456789abcdef-all", List: true},
		{Name: "zoo", Secret: "0123456789abcdef-zoo", List: true, Services: []string{"zoo", "default"}},
		{Name: "blind", Secret: "0123456789abcdef-blind"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, test := range []struct {
		token, after string
		limit        int
		want         []string
	}{
		{"all", "", 0, []string{"default", "orders", "pay", "zoo"}},
		{"all", "default", 2, []string{"orders", "pay"}},
		{"all", "zoo", 0, nil},
		{"zoo", "", 0, []string{"default", "zoo"}},
		{"zoo", "default", 1, []string{"zoo"}},
		{"zoo", "", 1, []string{"default"}},
		{"zoo", "zoo", 1, nil},
	} {
		client, err := leasehttp.NewClient(leasehttp.ClientOptions{URL: server.URL, Token: "0123456789abcdef-" + test.token})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.Services(t.Context(), test.after, test.limit); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s, %d after %q: got %q, %v, want %q", test.token, test.limit, test.after, got, err, test.want)
		}
	}
	blind, err := leasehttp.NewClient(leasehttp.ClientOptions{URL: server.URL, Token: "0123456789abcdef-blind"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := blind.Services(t.Context(), "", 0); err == nil {
		t.Errorf("a token that may not list got %q", got)
	}
}

// TestServicesOfOthers reads what is on the wire: a token learns the name of no
// service that it may not lease for, not even as the place to go on from.
func TestServicesOfOthers(t *testing.T) {
	provider, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"another", "orders", "secret-project", "zebra"} {
		if _, err := provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: id}); err != nil {
			t.Fatal(err)
		}
	}
	handler, err := leasehttp.NewHandler(provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{
		{Name: "orders", Secret: "0123456789abcdef-orders", List: true, Services: []string{"orders"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                     `{"services":["orders"],"next":"orders"}`,
		"?limit=1":             `{"services":["orders"],"next":"orders"}`,
		"?limit=2&after=a":     `{"services":["orders"],"next":"orders"}`,
		"?limit=1&after=order": `{"services":["orders"],"next":"orders"}`,
		"?after=orders":        `{"services":[]}`,
	} {
		req := httptest.NewRequest("GET", "/services"+query, nil)
		req.Header.Set("Authorization", "Bearer 0123456789abcdef-orders")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		if got := strings.TrimSpace(answer.Body.String()); got != want {
			t.Errorf("GET /services%s: got %s, want %s", query, got, want)
		}
	}
	req := httptest.NewRequest("GET", "/services?limit=-1", nil)
	req.Header.Set("Authorization", "Bearer 0123456789abcdef-orders")
	answer := httptest.NewRecorder()
	if handler.ServeHTTP(answer, req); answer.Code != 400 {
		t.Errorf("a limit of -1: got %d, want 400", answer.Code)
	}
}

// TestListerWithoutServices: a lister that does not know the services refuses a list of them, and a release that
// names no service is for the default one.
func TestListerWithoutServices(t *testing.T) {
	h := handler(t, faultyProvider{lease.ErrNotFound}, leasehttp.HandlerOptions{})
	if res := send(t, h, "GET", "/services", ""); res.Code != 403 || !strings.Contains(res.Body.String(), "does not list services") {
		t.Errorf("GET /services: got %d %s", res.Code, res.Body)
	}
	if res := send(t, h, "DELETE", "/lease/1", `{"signature":"00","timestamp":1}`); res.Code != 404 {
		t.Errorf("DELETE /lease/1: got %d %s", res.Code, res.Body)
	}
}
