// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"net/http/httptest"
	"slices"
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
