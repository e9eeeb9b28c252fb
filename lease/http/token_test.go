// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
	"github.com/kazahana-db/kazahana/lease/memory"
)

// TestTokens checks what a token permits.
func TestTokens(t *testing.T) {
	const ops = "the-secret-of-operators"
	now := time.Now()
	provider, err := memory.New(memory.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{
		{Name: "orders", Secret: secret, Services: []string{"orders"}, MaxThroughput: 512, MaxLeased: 1024},
		{Name: "ops", Secret: ops, List: true},
	}})
	acquire := func(body string, want int) []idgen.Lease {
		t.Helper()
		res := send(t, h, "POST", "/lease", body)
		if res.Code != want {
			t.Fatalf("%s: got %d %s, want %d", body, res.Code, res.Body, want)
		}
		var answer struct{ Leases []idgen.Lease }
		if err := json.Unmarshal(res.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Leases
	}
	acquire(`{}`, 403)
	acquire(`{"serviceId":"payments"}`, 403)
	acquire(`{"serviceId":"orders","throughputPerMs":513}`, 403)
	first := acquire(`{"serviceId":"orders","throughputPerMs":512}`, 200)[0]
	acquire(`{"serviceId":"orders","throughputPerMs":512,"requestKey":"k"}`, 200)
	acquire(`{"serviceId":"orders"}`, 429)
	acquire(`{"serviceId":"orders","throughputPerMs":512,"requestKey":"k"}`, 200) // repeated
	signed, err := json.Marshal(first.Release("orders", first.Created, now))
	if err != nil {
		t.Fatal(err)
	}
	if res := send(t, h, "DELETE", fmt.Sprint("/lease/", first.ID), string(signed)); res.Code != 204 {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	acquire(`{"serviceId":"orders","throughputPerMs":512}`, 200)
	acquire(`{"serviceId":"orders"}`, 429)
	now = now.Add(11 * time.Minute)
	acquire(`{"serviceId":"orders"}`, 200)
	if res := send(t, h, "GET", "/leases?serviceId=orders", ""); res.Code != 403 {
		t.Errorf("listed without permission: %d", res.Code)
	}
	if res := send(t, h, "GET", "/leases?serviceId=orders", "", "Authorization", "bearer "+ops); res.Code != 200 || strings.Contains(res.Body.String(), "ecret") {
		t.Errorf("%d %s", res.Code, res.Body)
	}
}

// TestRequestKeysOfTokens: two tokens, and a client without one, that send the same request key have
// two leases. Each gets its own again when it repeats the request.
func TestRequestKeysOfTokens(t *testing.T) {
	const other = "the-secret-of-another"
	h := handler(t, newMemory(t), leasehttp.HandlerOptions{Anonymous: true, Tokens: []leasehttp.Token{{Name: "a", Secret: secret}, {Name: "b", Secret: other}}})
	granted := map[string]string{}
	for range 2 {
		for _, header := range []string{"Bearer " + secret, "Bearer " + other, ""} {
			res := send(t, h, "POST", "/lease", `{"requestKey":"k"}`, "Authorization", header)
			if before, ok := granted[header]; res.Code != 200 || ok && before != res.Body.String() {
				t.Fatalf("%d %s, and before it %s", res.Code, res.Body, before)
			}
			granted[header] = res.Body.String()
		}
	}
	if granted["Bearer "+secret] == granted["Bearer "+other] || granted["Bearer "+secret] == granted[""] {
		t.Errorf("two accounts have one lease: %v", granted)
	}
	if res := send(t, h, "POST", "/lease", `{"requestKey":"`+strings.Repeat("k", 129)+`"}`); res.Code != 400 {
		t.Errorf("a request key of 129 bytes: %d %s", res.Code, res.Body)
	}
}

// TestTokensThatAreRefused: a list of services that is empty does not mean every one, and a secret
// names one token.
func TestTokensThatAreRefused(t *testing.T) {
	for want, tokens := range map[string][]leasehttp.Token{
		"is empty":    {{Name: "a", Secret: secret, Services: []string{}}},
		"same secret": {{Name: "a", Secret: secret, Services: []string{"x"}}, {Name: "b", Secret: secret}},
	} {
		if _, err := leasehttp.NewHandler(newMemory(t), leasehttp.HandlerOptions{Tokens: tokens}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestTokenAtOnce sends many requests of one token at once: they do not pass its
// bound together.
func TestTokenAtOnce(t *testing.T) {
	provider := newMemory(t)
	h := handler(t, provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "t", Secret: secret, MaxLeased: 1024}}})
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { send(t, h, "POST", "/lease", "{}") })
	}
	group.Wait()
	page, err := provider.List(t.Context(), "", lease.ListOptions{})
	if err != nil || len(page.Leases) != 4 {
		t.Fatalf("%d leases of 256, want 4: %v", len(page.Leases), err)
	}
}

// TestTokenReleasesAPart gives back one of several leases that were granted for
// one request, and repeats that: it is granted anew, so it counts.
func TestTokenReleasesAPart(t *testing.T) {
	layout := idgen.Layout{CustomEpoch: idgen.DefaultCustomEpoch, ReserveBits: 16, TimestampBits: 41, MachineBits: 5, SequenceBits: 2} // 64 positions
	provider, err := memory.New(memory.Options{Server: lease.Options{Default: lease.ServiceConfig{Layout: layout}}})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "t", Secret: secret, MaxLeased: 40}}})
	res := send(t, h, "POST", "/lease", `{"throughputPerMs":40,"requestKey":"k"}`)
	var answer struct{ Leases []idgen.Lease }
	if err := json.Unmarshal(res.Body.Bytes(), &answer); err != nil || len(answer.Leases) < 2 {
		t.Fatalf("got %s, want several leases: %v", res.Body, err)
	}
	l := answer.Leases[len(answer.Leases)-1]
	signed, err := json.Marshal(l.Release("", l.Created, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if res := send(t, h, "DELETE", fmt.Sprint("/lease/", l.ID), string(signed)); res.Code != 204 {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if res := send(t, h, "POST", "/lease", `{"throughputPerMs":24,"requestKey":"k"}`); res.Code != 429 {
		t.Errorf("the token has more than it may: %d %s", res.Code, res.Body)
	}
}

// TestTokenBound tries to get around the bound of a token: by a release through
// another token and the old request key, and through a second server of the
// store.
func TestTokenBound(t *testing.T) {
	const ops = "the-secret-of-operators"
	store := memory.NewStore(nil)
	var handlers []http.Handler
	var server *lease.Server
	for range 2 {
		var err error
		if server, err = lease.NewServer(store, lease.Options{Fresh: true}); err != nil {
			t.Fatal(err)
		}
		handlers = append(handlers, handler(t, server, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{
			{Name: "t", Secret: secret, MaxLeased: 1024}, {Name: "ops", Secret: ops},
		}}))
	}
	acquire := func(h http.Handler, key string, want int) (l idgen.Lease) {
		t.Helper()
		res := send(t, h, "POST", "/lease", fmt.Sprintf(`{"throughputPerMs":512,"requestKey":%q}`, key))
		if res.Code != want {
			t.Fatalf("%s: %d %s, want %d", key, res.Code, res.Body, want)
		}
		var answer struct{ Leases []idgen.Lease }
		if err := json.Unmarshal(res.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if want == 200 {
			l = answer.Leases[0]
		}
		return l
	}
	first := acquire(handlers[0], "1", 200)
	acquire(handlers[1], "2", 200)
	acquire(handlers[1], "3", 429)
	signed, err := json.Marshal(first.Release("", first.Created, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if res := send(t, handlers[0], "DELETE", fmt.Sprint("/lease/", first.ID), string(signed), "Authorization", "Bearer "+ops); res.Code != 204 {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	acquire(handlers[0], "4", 200) // what was released is there again
	acquire(handlers[0], "1", 429)
	page, err := server.List(t.Context(), "", lease.ListOptions{})
	if err != nil || len(page.Leases) != 2 {
		t.Errorf("%d leases of 512 are active, want 2: %v", len(page.Leases), err)
	}
}

// TestTokenBoundIsKept checks that a provider which keeps no account is not
// served under a bound that it does not know.
func TestTokenBoundIsKept(t *testing.T) {
	h := handler(t, budgetlessProvider{newMemory(t)}, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "t", Secret: secret, MaxLeased: 1024}}})
	if res := send(t, h, "POST", "/lease", "{}"); res.Code != 500 {
		t.Errorf("%d %s, want 500", res.Code, res.Body)
	}
}

// TestPagesOfOtherSites sends to a server without tokens, over the loopback interface,
// what pages in a browser of its machine can send: those of a site that pointed its name
// at the machine, and those that ask across origins.
func TestPagesOfOtherSites(t *testing.T) {
	h, err := leasehttp.NewHandler(newMemory(t), leasehttp.HandlerOptions{
		Anonymous: true, Tokens: []leasehttp.Token{{Name: "t", Secret: secret, List: true}}, Hosts: []string{"id.example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	own := strings.TrimPrefix(server.URL, "http://")
	for _, test := range []struct {
		name, host string
		header     map[string]string
		want       int
	}{
		{name: "a program", host: own, want: 200},
		{name: "a program, another name of this machine", host: "localhost:7320", want: 200},
		{name: "a proxy", host: "id.example.com", want: 200},
		{name: "a page of this server", host: own, header: map[string]string{"Origin": server.URL, "Sec-Fetch-Site": "same-origin"}, want: 200},
		{name: "a rebound name", host: "evil.example:7320", want: 403},
		{name: "a rebound name, its origin", host: "evil.example:7320", header: map[string]string{"Origin": "http://evil.example:7320"}, want: 403},
		{name: "a rebound name, with a token", host: "evil.example:7320", header: map[string]string{"Authorization": "Bearer " + secret}, want: 200},
		{name: "another origin", host: own, header: map[string]string{"Origin": "https://evil.example"}, want: 403},
		{name: "no origin", host: own, header: map[string]string{"Origin": "null"}, want: 403},
		{name: "another site", host: own, header: map[string]string{"Sec-Fetch-Site": "cross-site"}, want: 403},
	} {
		for _, call := range []struct{ method, path string }{{http.MethodPost, "/lease"}, {http.MethodGet, "/leases"}, {http.MethodGet, "/services"}} {
			req, err := http.NewRequestWithContext(t.Context(), call.method, server.URL+call.path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Host = test.host
			req.Header.Set("Content-Type", "application/json")
			for name, value := range test.header {
				req.Header.Set(name, value)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != test.want {
				t.Errorf("%s: %s %s answers %d, want %d", test.name, call.method, call.path, res.StatusCode, test.want)
			}
		}
	}
}

// budgetlessProvider is a provider that loses the context.
type budgetlessProvider struct{ idgen.LeaseProvider }

func (p budgetlessProvider) Acquire(_ context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	return p.LeaseProvider.Acquire(context.Background(), req)
}

// TestAnonymous checks a handler without tokens.
func TestAnonymous(t *testing.T) {
	if _, err := leasehttp.NewHandler(newMemory(t), leasehttp.HandlerOptions{}); err == nil {
		t.Error("a handler that nobody could use is made")
	}
	h, err := leasehttp.NewHandler(newMemory(t), leasehttp.HandlerOptions{Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	if res := send(t, h, "POST", "/lease", "{}", "Authorization", ""); res.Code != 200 {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if res := send(t, h, "POST", "/lease", "{}"); res.Code != 401 {
		t.Errorf("a wrong token: %d", res.Code)
	}
	bad := leasehttp.HandlerOptions{MaxBody: -1, Tokens: []leasehttp.Token{{Secret: "short"}, {Secret: secret, MaxLeased: -1}}}
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("four faults: %v", err)
	}
}
