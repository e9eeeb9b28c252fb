// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// literalBody is what the specification's HttpLeaseProvider sends in its release,
// section 7.1, with the signature of section 4.5.
func literalBody(id int64, secret string, timestamp int64) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d:%d", id, timestamp)
	return fmt.Sprintf(`{"signature":"%x","timestamp":%d}`, mac.Sum(nil), timestamp)
}

// TestLiteralRelease sends the release of the specification's section 7.1, which
// names no service, for machine 0 of each of three services: the layout has two machines
// for so large a lease, of which a service begins with the first.
func TestLiteralRelease(t *testing.T) {
	tokens := []leasehttp.Token{
		{Name: "all", Secret: secret},
		{Name: "some", Secret: "a-secret-for-two-of-three", Services: []string{"billing", "orders"}},
	}
	provider, err := memory.New(memory.Options{Server: lease.Options{Default: lease.ServiceConfig{Layout: idgen.Layout{
		CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 11, TimestampBits: 41, MachineBits: 4, SequenceBits: 8,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, provider, leasehttp.HandlerOptions{Tokens: tokens})
	release := func(l idgen.Lease, token string, timestamp int64, want int) {
		t.Helper()
		res := send(t, h, "DELETE", fmt.Sprint("/lease/", l.ID), literalBody(l.ID, l.Secret, timestamp), "Authorization", "Bearer "+token)
		if res.Code != want {
			t.Errorf("%d %s, want %d", res.Code, res.Body, want)
		}
	}
	now := time.Now().UnixMilli()
	release(idgen.Lease{ID: 0, Secret: "s"}, secret, now, http.StatusNotFound)
	leases := map[string]idgen.Lease{}
	for _, service := range []string{"default", "orders", "stock"} {
		granted, err := provider.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: service, Throughput: 1024})
		if err != nil {
			t.Fatal(err)
		}
		leases[service] = granted[0]
	}
	release(idgen.Lease{ID: 0, Secret: "s"}, secret, now, http.StatusForbidden)
	release(idgen.Lease{ID: 7, Secret: "s"}, secret, now, http.StatusNotFound)
	release(idgen.Lease{ID: 1 << 40, Secret: "s"}, secret, now, http.StatusBadRequest)
	release(leases["orders"], secret, now-31_000, http.StatusForbidden)
	release(leases["stock"], tokens[1].Secret, now, http.StatusForbidden)
	for service, l := range leases {
		token := secret
		if service == "orders" {
			token = tokens[1].Secret
		}
		wantActive(t, provider, service, 1)
		release(l, token, now, http.StatusNoContent)
		release(l, token, now, http.StatusNoContent)
		wantActive(t, provider, service, 0)
	}
}

func wantActive(t *testing.T, provider *lease.Server, service string, want int) {
	t.Helper()
	if page, err := provider.List(t.Context(), service, lease.ListOptions{}); err != nil || len(page.Leases) != want {
		t.Errorf("service %s: %d active leases, want %d: %+v, %v", service, len(page.Leases), want, page, err)
	}
}

// literalServer is the specification's MemoryLeaseProvider, section 7.3, with the
// routes of its section 7.1. How it tells of success and of errors is left open there.
type literalServer struct {
	success, refusal int
	strict           bool // refuse members that the specification does not have

	mu      sync.Mutex
	secrets map[int64]string
	bodies  []string // of the releases
}

func (s *literalServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPost && r.URL.Path == "/lease" {
		s.acquire(w)
		return
	}
	var id int64
	if _, err := fmt.Sscanf(r.Method+r.URL.Path, "DELETE/lease/%d", &id); err != nil {
		http.NotFound(w, r)
		return
	}
	if err := s.release(id, r.Body); err != nil {
		http.Error(w, err.Error(), s.refusal)
		return
	}
	w.WriteHeader(s.success)
}

func (s *literalServer) acquire(w http.ResponseWriter) {
	now, id := time.Now().UnixMilli(), int64(len(s.secrets))
	l := idgen.Lease{
		ID: id, Created: now, Expired: now + 600_000, Secret: fmt.Sprint("secret-", id),
		CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 1, TimestampBits: 41, MachineBits: 14, SequenceBits: 8,
	}
	s.secrets[id] = l.Secret
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(min(s.success, http.StatusCreated))
	_ = json.NewEncoder(w).Encode(map[string]any{"leases": []idgen.Lease{l}})
}

func (s *literalServer) release(id int64, body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	s.bodies = append(s.bodies, string(text))
	var options struct {
		Signature string `json:"signature"`
		Timestamp int64  `json:"timestamp"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	if s.strict {
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(&options); err != nil {
		return err
	}
	if time.Since(time.UnixMilli(options.Timestamp)).Abs() > 30*time.Second {
		return errors.New("Timestamp expired")
	}
	stored, ok := s.secrets[id]
	if !ok {
		return errors.New("Lease not found")
	}
	if !strings.HasPrefix(literalBody(id, stored, options.Timestamp), `{"signature":"`+options.Signature+`"`) {
		return errors.New("Invalid signature")
	}
	delete(s.secrets, id)
	return nil
}

// TestLiteralServer leases from servers that are written to the letter of the
// specification, by a generator that is shut down, and by requests of its own.
func TestLiteralServer(t *testing.T) {
	for _, server := range []*literalServer{
		{success: http.StatusNoContent, refusal: http.StatusForbidden},
		{success: http.StatusOK, refusal: http.StatusInternalServerError},
		{success: http.StatusCreated, refusal: http.StatusBadRequest, strict: true},
	} {
		server.secrets = map[int64]string{}
		front := httptest.NewServer(server)
		c := client(t, leasehttp.ClientOptions{URL: front.URL})
		shutDownGenerator(t, c)
		leases, err := c.Acquire(t.Context(), idgen.AcquireRequest{ServiceID: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		l, now := leases[0], time.Now()
		if err := c.Release(t.Context(), l.Release("orders", l.Created, now).Literal()); err != nil {
			t.Errorf("refusing with %d: a literal release: %v", server.refusal, err)
		}
		if diff := cmp.Diff(literalBody(l.ID, l.Secret, now.UnixMilli()), server.bodies[len(server.bodies)-1]); diff != "" {
			t.Errorf("the last release (-want +got):\n%s", diff)
		}
		if len(server.secrets) != 0 || len(server.bodies) != 3 {
			t.Errorf("refusing with %d: left %v after the releases %q", server.refusal, server.secrets, server.bodies)
		}
		if err := c.Release(t.Context(), l.Release("orders", l.Created, now)); err == nil || !strings.Contains(err.Error(), "Lease not found") {
			t.Errorf("a lease that is not there: %v", err)
		}
		front.Close()
	}
}

// shutDownGenerator makes an ID by a lease of c, and gives the lease back.
func shutDownGenerator(t *testing.T, c *leasehttp.Client) {
	t.Helper()
	ids, err := idgen.NewClient(idgen.Options{Provider: c, ServiceID: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ids.Next(t.Context()); err != nil {
		t.Error(err)
	}
	if err := ids.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// TestReleaseIsSentOnce checks that no second release follows an answer which does
// not show that the server is another's: it could only undo what the first has said.
func TestReleaseIsSentOnce(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"gateway":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) },
		"overloaded": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "later", http.StatusTooManyRequests) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"ours": handler(t, faultyProvider{lease.ErrSignature}, leasehttp.HandlerOptions{}).ServeHTTP,
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			answer(w, r)
		}))
		c := client(t, leasehttp.ClientOptions{URL: server.URL, Token: secret})
		if err := c.Release(t.Context(), idgen.Lease{ID: 1, SequenceBits: 8, Created: 1, Secret: "s"}.Release("", 1, time.Now())); err == nil {
			t.Errorf("%s: no error", name)
		}
		server.Close()
		if requests != 1 {
			t.Errorf("%s: %d requests", name, requests)
		}
	}
}
