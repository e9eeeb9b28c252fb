// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/kazahana-db/kazahana/lease/leasetest"
	"github.com/kazahana-db/kazahana/lease/memory"
)

const secret = "a-secret-of-23-letters!"

// serve returns a client of a provider, by TLS.
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

// TestErrorsCrossTheWire checks that the client returns the errors that the
// provider returned, with their data.
func TestErrorsCrossTheWire(t *testing.T) {
	layout := idgen.DefaultLayout()
	other := layout
	other.CustomEpochMs = 1
	for _, want := range []error{
		lease.ErrInvalid, lease.ErrUnknownService, lease.ErrNotFound, lease.ErrSignature, lease.ErrExpiredTimestamp, lease.ErrLastTs,
		&lease.ExhaustedError{ServiceID: "a", ThroughputPerMs: 7},
		&lease.QuarantineError{ServiceID: "a", Until: time.UnixMilli(idgen.DefaultCustomEpochMs).UTC()},
		&lease.CustomEpochError{ServiceID: "a", Stored: layout, Configured: other},
		&lease.CorruptError{ServiceID: "a", Key: []byte{0, 255}, Cause: errors.New("why")},
		&idgen.TimeRangeError{Time: layout.First().Add(-1), First: layout.First(), Last: layout.Last()},
	} {
		c := serve(t, failing{fmt.Errorf("wrapped: %w", want)}, leasehttp.HandlerOptions{})
		_, acquire := c.Acquire(t.Context(), idgen.AcquireRequest{})
		_, list := c.List(t.Context(), "", lease.ListOptions{})
		for _, got := range []error{acquire, c.Release(t.Context(), idgen.ReleaseRequest{}), list} {
			if !same(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	}
	c := serve(t, failing{errors.New("password of the database")}, leasehttp.HandlerOptions{})
	_, err := c.Acquire(t.Context(), idgen.AcquireRequest{})
	var status *leasehttp.StatusError
	if !errors.As(err, &status) || status.Status != http.StatusInternalServerError || strings.Contains(err.Error(), "password") {
		t.Errorf("an error of the store: got %v", err)
	}
}

// same reports whether got is the sentinel want, or has an error of its type and
// text in it.
func same(got, want error) bool {
	var (
		exhausted  *lease.ExhaustedError
		quarantine *lease.QuarantineError
		epoch      *lease.CustomEpochError
		corrupt    *lease.CorruptError
		clock      *idgen.TimeRangeError
	)
	switch want := want.(type) {
	case *lease.ExhaustedError:
		return errors.As(got, &exhausted) && *exhausted == *want && errors.Is(got, lease.ErrExhausted)
	case *lease.QuarantineError:
		return errors.As(got, &quarantine) && *quarantine == *want && errors.Is(got, lease.ErrQuarantine)
	case *lease.CustomEpochError:
		return errors.As(got, &epoch) && *epoch == *want
	case *lease.CorruptError:
		return errors.As(got, &corrupt) && corrupt.Error() == want.Error() && errors.Is(got, lease.ErrCorrupt)
	case *idgen.TimeRangeError:
		return errors.As(got, &clock) && *clock == *want && errors.Is(got, idgen.ErrBeforeCustomEpoch)
	}
	return errors.Is(got, want)
}

// failing is a provider that returns one error.
type failing struct{ err error }

func (f failing) Acquire(context.Context, idgen.AcquireRequest) ([]idgen.Lease, error) {
	return nil, f.err
}

func (f failing) Release(context.Context, idgen.ReleaseRequest) error { return f.err }

func (f failing) List(context.Context, string, lease.ListOptions) (lease.Page, error) {
	return lease.Page{}, f.err
}

// request sends a request to a handler, and checks what each answer must have.
func request(t testing.TB, h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
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

// TestWire pins the protocol: the specification's section 7.1.
func TestWire(t *testing.T) {
	provider, err := memory.New(memory.Options{Now: func() time.Time { return time.UnixMilli(idgen.DefaultCustomEpochMs + 1000) }})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, provider, leasehttp.HandlerOptions{})
	res := request(t, h, "POST", "/lease", `{"serviceId":"orders","meta":{"host":"a"},"throughputPerMs":300,"requestKey":"k"}`)
	var answer struct{ Leases []idgen.Lease }
	if err := json.Unmarshal(res.Body.Bytes(), &answer); err != nil || res.Code != 200 || len(answer.Leases) != 1 {
		t.Fatalf("%d %s: %v", res.Code, res.Body, err)
	}
	l := answer.Leases[0]
	want := fmt.Sprintf(`{"leases":[{"id":0,"created":1767225601000,"expired":1767226201000,"secret":"%s","customEpoch":1767225600000,"bitReserve":1,"bitTs":41,"bitId":13,"bitSeq":9}]}`+"\n", l.Secret)
	if diff := cmp.Diff(want, res.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	res = request(t, h, "GET", "/leases?serviceId=orders", "")
	want = `{"leases":[{"id":0,"bitSeq":9,"created":"2026-01-01T00:00:01Z","expired":"2026-01-01T00:10:01Z","active":true,"meta":{"host":"a"}}]}` + "\n"
	if diff := cmp.Diff(want, res.Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	req := l.Release("orders", l.Created, time.UnixMilli(l.Created))
	body := fmt.Sprintf(`{"serviceId":"orders","bitSeq":9,"created":%d,"lastTs":%d,"timestamp":%d,"signature":%q}`, req.Created, req.LastTs, req.Timestamp, req.Signature)
	for range 2 {
		if res := request(t, h, "DELETE", "/lease/0", body); res.Code != http.StatusNoContent || res.Body.Len() != 0 {
			t.Errorf("%d %s", res.Code, res.Body)
		}
	}
}

// TestLiteralRelease sends the body of the specification's section 7.1.
func TestLiteralRelease(t *testing.T) {
	provider := newMemory(t)
	h := handler(t, provider, leasehttp.HandlerOptions{})
	leases, err := provider.Acquire(t.Context(), idgen.AcquireRequest{ThroughputPerMs: 1024})
	if err != nil {
		t.Fatal(err)
	}
	l, now := leases[0], time.Now().UnixMilli()
	mac := hmac.New(sha256.New, []byte(l.Secret))
	fmt.Fprintf(mac, "%d:%d", l.ID, now)
	body := fmt.Sprintf(`{"signature":"%x","timestamp":%d}`, mac.Sum(nil), now)
	target := fmt.Sprint("/lease/", l.ID)
	if res := request(t, h, "DELETE", target, strings.Replace(body, `:"`, `:"0`, 1)); res.Code != http.StatusForbidden {
		t.Errorf("forged: %d %s, want 403", res.Code, res.Body)
	}
	if res := request(t, h, "DELETE", target, body); res.Code != http.StatusNoContent {
		t.Errorf("%d %s, want 204", res.Code, res.Body)
	}
	if page, err := provider.List(t.Context(), "", lease.ListOptions{}); err != nil || len(page.Leases) != 0 {
		t.Errorf("still active: %+v, %v", page, err)
	}
}

// TestRefusals checks what no provider gets to see.
func TestRefusals(t *testing.T) {
	h := handler(t, newMemory(t), leasehttp.HandlerOptions{MaxBody: 100})
	long := `{"serviceId":"` + strings.Repeat("a", 100) + `"}`
	for _, c := range []struct {
		method, target, body string
		headers              []string
		status               int
	}{
		{"POST", "/lease", "{}", []string{"Authorization", ""}, 401},
		{"POST", "/lease", "{}", []string{"Authorization", "Bearer"}, 401},
		{"POST", "/lease", "{}", []string{"Authorization", "Bearer wrong"}, 401},
		{"POST", "/lease", "{}", []string{"Authorization", "Basic " + secret}, 401},
		{"GET", "/nowhere", "", []string{"Authorization", "x"}, 401},
		{"GET", "/nowhere", "", nil, 404},
		{"POST", "/lease/1/2", "", nil, 404},
		{"POST", "/", "", nil, 404},
		{"GET", "/lease", "", nil, 405},
		{"POST", "/lease/1", "{}", nil, 405},
		{"POST", "/leases", "{}", nil, 405},
		{"POST", "/lease", "{}", []string{"Content-Type", "text/plain"}, 415},
		{"POST", "/lease", "{}", []string{"Content-Type", ""}, 415},
		{"POST", "/lease", long, nil, 413},
		{"POST", "/lease", "{", nil, 400},
		{"POST", "/lease", "", nil, 400},
		{"POST", "/lease", " \n", nil, 400},
		{"POST", "/lease", "null", nil, 400},
		{"POST", "/lease", " null ", nil, 400},
		{"POST", "/lease", "7", nil, 400},
		{"DELETE", "/lease/1", "", nil, 400},
		{"DELETE", "/lease/1", "null", nil, 400},
		{"POST", "/lease", "{} {}", nil, 400},
		{"POST", "/lease", "[]", nil, 400},
		{"POST", "/lease", `{"throughputPerMs":1e99}`, nil, 400},
		{"POST", "/lease", `{"throughputPerMs":2097152}`, nil, 400},
		{"POST", "/lease", `{"serviceId":"../x"}`, nil, 400},
		{"DELETE", "/lease/", "{}", nil, 400},
		{"DELETE", "/lease/x", "{}", nil, 400},
		{"DELETE", "/lease/1", `{"id":2}`, nil, 400},
		{"DELETE", "/lease/99999999999999999999", "{}", nil, 400},
		{"GET", "/leases?limit=x", "", nil, 400},
		{"GET", "/leases?ended=x", "", nil, 400},
		{"GET", "/leases?limit=1001", "", nil, 400},
		{"GET", "/leases?a=%zz", "", nil, 400},
	} {
		if res := request(t, h, c.method, c.target, c.body, c.headers...); res.Code != c.status {
			t.Errorf("%s %s %.30s %q: got %d %s, want %d", c.method, c.target, c.body, c.headers, res.Code, res.Body, c.status)
		}
	}
}

// TestTokens checks what a token permits.
func TestTokens(t *testing.T) {
	const ops = "the-secret-of-operators"
	now := time.Now()
	provider, err := memory.New(memory.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{
		{Name: "orders", Secret: secret, Services: []string{"orders"}, MaxThroughputPerMs: 512, MaxLeasedPerMs: 1024},
		{Name: "ops", Secret: ops, List: true},
	}})
	acquire := func(body string, want int) []idgen.Lease {
		t.Helper()
		res := request(t, h, "POST", "/lease", body)
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
	if res := request(t, h, "DELETE", fmt.Sprint("/lease/", first.ID), string(signed)); res.Code != 204 {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	acquire(`{"serviceId":"orders","throughputPerMs":512}`, 200)
	acquire(`{"serviceId":"orders"}`, 429)
	now = now.Add(11 * time.Minute)
	acquire(`{"serviceId":"orders"}`, 200)
	if res := request(t, h, "GET", "/leases?serviceId=orders", ""); res.Code != 403 {
		t.Errorf("listed without permission: %d", res.Code)
	}
	if res := request(t, h, "GET", "/leases?serviceId=orders", "", "Authorization", "bearer "+ops); res.Code != 200 || strings.Contains(res.Body.String(), "ecret") {
		t.Errorf("%d %s", res.Code, res.Body)
	}
}

// TestTokenAtOnce sends many requests of one token at once: they do not pass its
// bound together.
func TestTokenAtOnce(t *testing.T) {
	provider := newMemory(t)
	h := handler(t, provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "t", Secret: secret, MaxLeasedPerMs: 1024}}})
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { request(t, h, "POST", "/lease", "{}") })
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
	layout := idgen.Layout{CustomEpochMs: idgen.DefaultCustomEpochMs, BitReserve: 16, BitTs: 41, BitID: 5, BitSeq: 2} // 64 positions
	provider, err := memory.New(memory.Options{Server: lease.Options{Default: lease.ServiceConfig{Layout: layout}}})
	if err != nil {
		t.Fatal(err)
	}
	h := handler(t, provider, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "t", Secret: secret, MaxLeasedPerMs: 40}}})
	res := request(t, h, "POST", "/lease", `{"throughputPerMs":40,"requestKey":"k"}`)
	var answer struct{ Leases []idgen.Lease }
	if err := json.Unmarshal(res.Body.Bytes(), &answer); err != nil || len(answer.Leases) < 2 {
		t.Fatalf("got %s, want several leases: %v", res.Body, err)
	}
	l := answer.Leases[len(answer.Leases)-1]
	signed, err := json.Marshal(l.Release("", l.Created, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if res := request(t, h, "DELETE", fmt.Sprint("/lease/", l.ID), string(signed)); res.Code != 204 {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	if res := request(t, h, "POST", "/lease", `{"throughputPerMs":24,"requestKey":"k"}`); res.Code != 429 {
		t.Errorf("the token has more than it may: %d %s", res.Code, res.Body)
	}
}

// TestTokenBound tries to get around the bound of a token: by a release through
// another token and the old request key, and through a second server of the
// store.
func TestTokenBound(t *testing.T) {
	const ops = "the-secret-of-operators"
	store := memory.NewStore(nil)
	var handlers []*leasehttp.Handler
	var server *lease.Server
	for range 2 {
		var err error
		if server, err = lease.NewServer(store, lease.Options{Fresh: true}); err != nil {
			t.Fatal(err)
		}
		handlers = append(handlers, handler(t, server, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{
			{Name: "t", Secret: secret, MaxLeasedPerMs: 1024}, {Name: "ops", Secret: ops},
		}}))
	}
	acquire := func(h http.Handler, key string, want int) (l idgen.Lease) {
		t.Helper()
		res := request(t, h, "POST", "/lease", fmt.Sprintf(`{"throughputPerMs":512,"requestKey":%q}`, key))
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
	if res := request(t, handlers[0], "DELETE", fmt.Sprint("/lease/", first.ID), string(signed), "Authorization", "Bearer "+ops); res.Code != 204 {
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
	h := handler(t, forgetful{newMemory(t)}, leasehttp.HandlerOptions{Tokens: []leasehttp.Token{{Name: "t", Secret: secret, MaxLeasedPerMs: 1024}}})
	if res := request(t, h, "POST", "/lease", "{}"); res.Code != 500 {
		t.Errorf("%d %s, want 500", res.Code, res.Body)
	}
}

// forgetful is a provider that loses the context.
type forgetful struct{ idgen.LeaseProvider }

func (p forgetful) Acquire(_ context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
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
	if res := request(t, h, "POST", "/lease", "{}", "Authorization", ""); res.Code != 200 {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if res := request(t, h, "POST", "/lease", "{}"); res.Code != 401 {
		t.Errorf("a wrong token: %d", res.Code)
	}
	bad := leasehttp.HandlerOptions{MaxBody: -1, Tokens: []leasehttp.Token{{Secret: "short"}, {Secret: secret, MaxLeasedPerMs: -1}}}
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("four faults: %v", err)
	}
}

// TestTimeout checks the answer while the store does not answer.
func TestTimeout(t *testing.T) {
	c := serve(t, hanging{}, leasehttp.HandlerOptions{Timeout: time.Millisecond})
	_, err := c.Acquire(t.Context(), idgen.AcquireRequest{})
	var status *leasehttp.StatusError
	if !errors.As(err, &status) || status.Status != http.StatusGatewayTimeout {
		t.Errorf("got %v, want 504", err)
	}
}

// hanging is a provider that waits for the end of the context.
type hanging struct{ failing }

func (hanging) Acquire(ctx context.Context, _ idgen.AcquireRequest) ([]idgen.Lease, error) {
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
