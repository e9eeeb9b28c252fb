// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
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
