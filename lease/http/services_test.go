// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
)

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
			t.Errorf("%s, %d behind %q: got %q, %v, want %q", test.token, test.limit, test.after, got, err, test.want)
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
