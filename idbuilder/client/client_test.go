// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/client"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// TestIncrement takes all IDs of a key one by one and in batches: all IDs of the configuration
// come, in their order, to the last.
func TestIncrement(t *testing.T) {
	c, _ := service(t, map[string]string{
		`{"key": "up", "base": 0, "delta": 3, "max": 6000}`:                "increment",
		`{"name": "down", "start": 100, "step": -1, "min": 1, "max": 100}`: "increment",
	})
	for _, k := range []struct {
		key         string
		first, step int64
		count       int
	}{{"up", 3, 3, 2000}, {"down", 100, -1, 100}} {
		h := c.Increment(k.key)
		if h != c.Increment(k.key) {
			t.Error("the handle is another one at the second call")
		}
		for i := 0; i < k.count; {
			batch := make([]int64, min(1+i%7*i, k.count-i))
			n, err := h.NextN(t.Context(), batch)
			if err != nil || n != len(batch) {
				t.Fatalf("%s: after %d IDs: %d, %v", k.key, i, n, err)
			}
			for _, id := range batch {
				if want := k.first + int64(i)*k.step; id != want {
					t.Fatalf("%s: ID %d is %d, want %d", k.key, i, id, want)
				}
				i++
			}
		}
		_, err := h.Next(t.Context())
		var refusal *api.Error
		if !errors.Is(err, client.ErrExhausted) || !errors.As(err, &refusal) || refusal.Code != api.Exhausted {
			t.Errorf("%s: after the last ID: %v", k.key, err)
		}
	}
}

// TestFormatted takes IDs that are texts.
func TestFormatted(t *testing.T) {
	c, _ := service(t, map[string]string{`{"key": "bills", "parts": [{"type": "fixed-chars", "value": "INV-"}, {"type": "auto-increment", "length": 4}]}`: "formatted"})
	got := make([]string, 3)
	if n, err := c.Formatted("bills").NextN(t.Context(), got); err != nil || n != 3 || !slices.Equal(got, []string{"INV-0001", "INV-0002", "INV-0003"}) {
		t.Fatal(got, n, err)
	}
	if id, err := c.Formatted("bills").Next(t.Context()); err != nil || id != "INV-0004" {
		t.Fatal(id, err)
	}
}

// TestRefusals: errors.Is finds the sentinel for the code of a refusal.
func TestRefusals(t *testing.T) {
	c, server := service(t, map[string]string{`{"key": "a", "base": 0}`: "increment", `{"key": "b", "base": 0}`: "increment"})
	token, _, err := c.Admin().Token(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other := newClient(t, client.Options{URLs: []string{server.URL}, Token: token})
	if id, err := other.Increment("a").Next(t.Context()); err != nil || id != 1 {
		t.Error(id, err)
	}
	unknown := newClient(t, client.Options{URLs: []string{server.URL}, Token: "unknown"})
	for _, r := range []struct {
		name string
		want error
		code api.Code
		call func() error
	}{
		{"no such key", client.ErrNotFound, api.NotFound, func() error { _, err := c.Increment("none").Next(t.Context()); return err }},
		{"the token of another key", client.ErrForbidden, api.Authorization, func() error { _, err := other.Increment("b").Next(t.Context()); return err }},
		{"an unknown token", client.ErrUnauthenticated, api.Authentication, func() error { _, err := unknown.Increment("a").Next(t.Context()); return err }},
		{"a key token for admins' requests", client.ErrForbidden, api.Authorization, func() error { return other.Admin().Verify(t.Context()) }},
	} {
		err := r.call()
		var refusal *api.Error
		var failed *client.RequestError
		if !errors.Is(err, r.want) || !errors.As(err, &refusal) || refusal.Code != r.code || !errors.As(err, &failed) || failed.Tries != 1 || failed.Code != int(r.code) || failed.Status != refusal.Status {
			t.Errorf("%s: %v", r.name, err)
		}
		for _, not := range []error{client.ErrNotFound, client.ErrForbidden, client.ErrUnauthenticated, client.ErrExhausted, client.ErrRateLimited} {
			if not != r.want && errors.Is(err, not) {
				t.Errorf("%s: %v is also %v", r.name, err, not)
			}
		}
	}
}

// TestAdmin creates, reads, lists and deletes configurations.
func TestAdmin(t *testing.T) {
	c, server := service(t, nil)
	admin := c.Admin()
	if err := admin.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 205 { // more than two pages
		key := "k" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		want = append(want, key)
		if err := admin.Save(t.Context(), "increment", map[string]any{"key": key, "base": 7}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for item, err := range admin.Configs(t.Context(), "k") {
		if err != nil || item.Type != "increment" {
			t.Fatal(item, err)
		}
		got = append(got, item.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the list is %v", got)
	}
	var config struct{ Base, Current int64 }
	if err := admin.Config(t.Context(), "increment", "kaa", &config); err != nil || config.Base != 7 || config.Current != 7 {
		t.Error(config, err)
	}
	first, _, err := admin.Token(t.Context(), "kaa")
	if err != nil {
		t.Fatal(err)
	}
	second, expires, err := admin.ResetToken(t.Context(), "kaa")
	if err != nil || first == second || second == "" || time.Until(expires) < time.Hour {
		t.Fatal(second, expires, err)
	}
	old := newClient(t, client.Options{URLs: []string{server.URL}, Token: first})
	if _, err := old.Increment("kaa").Next(t.Context()); !errors.Is(err, client.ErrUnauthenticated) {
		t.Errorf("with the token before the reset: %v", err)
	}
	if err := admin.Delete(t.Context(), "increment", "kaa"); err != nil {
		t.Fatal(err)
	}
	if err := admin.Config(t.Context(), "increment", "kaa", &config); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

// TestRedirects: a client follows a redirect within the origin of its URL that keeps the method, and
// no other. It does not take the answer to a GET for that to the DELETE which a redirect has made a GET.
func TestRedirects(t *testing.T) {
	c, server := service(t, nil)
	for _, own := range []*http.Client{nil, {}, {CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}} {
		for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect} {
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if path, ok := strings.CutPrefix(r.URL.Path, "/old"); ok {
					http.Redirect(w, r, path+"?"+r.URL.RawQuery, status)
					return
				}
				server.Config.Handler.ServeHTTP(w, r)
			}))
			t.Cleanup(front.Close)
			save(t, c, "increment", `{"key": "k", "base": 0}`)
			admin := newClient(t, client.Options{URLs: []string{front.URL + "/old"}, HTTPClient: own}).Admin()
			if err := admin.Config(t.Context(), "increment", "k", new(any)); err != nil {
				t.Errorf("%d, GET: %v", status, err)
			}
			err := admin.Delete(t.Context(), "increment", "k")
			if kept := status == http.StatusTemporaryRedirect; kept && err != nil || !kept && !errors.Is(err, client.ErrAnswer) {
				t.Errorf("%d, DELETE: %v", status, err)
			}
		}
	}
}

// TestTokenStaysWithItsServer: no redirect makes the client send its token to another scheme or port
// of the same host, nor to another host.
func TestTokenStaysWithItsServer(t *testing.T) {
	shown := make(chan string, 100)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown <- r.Header.Get("Authorization") }))
	t.Cleanup(thief.Close)
	for _, serve := range []func(http.Handler) *httptest.Server{httptest.NewTLSServer, httptest.NewServer} {
		front := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}))
		t.Cleanup(front.Close)
		c := newClient(t, client.Options{URLs: []string{front.URL}, HTTPClient: front.Client(), Retry: client.Retry{Attempts: 1}})
		_, err := c.Increment("k").Next(t.Context())
		if !errors.Is(err, client.ErrAnswer) || !strings.Contains(err.Error(), thief.URL) {
			t.Errorf("%s: %v", front.URL, err)
		}
	}
	select {
	case token := <-shown:
		t.Errorf("the other server was asked, with %q", token)
	default:
	}
}

// TestAdminTokenInClear: requests for administrators are sent over plain HTTP to this machine alone,
// unless the options say otherwise; requests for IDs are.
func TestAdminTokenInClear(t *testing.T) {
	sent := make(chan string, 1)
	transport := direct(func(w http.ResponseWriter, r *http.Request) {
		sent <- r.URL.Path
		answer(w, map[string]any{})
	})
	for _, test := range []struct {
		urls  []string
		plain bool
		want  bool
	}{
		{[]string{"http://id.example.com"}, false, false},
		{[]string{"http://id.example.com"}, true, true},
		{[]string{"https://id.example.com"}, false, true},
		{[]string{"https://id.example.com", "http://127.0.0.1.example.com"}, false, false},
		{[]string{"http://127.0.0.1:8080"}, false, true},
		{[]string{"http://[::1]:8080"}, false, true},
		{[]string{"http://localhost"}, false, true},
	} {
		c := newClient(t, client.Options{URLs: test.urls, PlainHTTP: test.plain, HTTPClient: &http.Client{Transport: transport}})
		if err := c.Admin().Verify(t.Context()); (err == nil) != test.want {
			t.Errorf("%v, PlainHTTP %v: %v", test.urls, test.plain, err)
		} else if last := test.urls[len(test.urls)-1]; err != nil && !strings.Contains(err.Error(), last+": ") {
			t.Errorf("%v does not name %s", err, last)
		}
		if (len(sent) == 1) != test.want {
			t.Errorf("%v, PlainHTTP %v: %d requests were sent", test.urls, test.plain, len(sent))
		}
		if len(sent) == 1 {
			<-sent
		}
	}
}

// TestClosed: after Close, handles give no IDs, not even handles that are made later.
func TestClosed(t *testing.T) {
	c, _ := service(t, map[string]string{`{"key": "k", "base": 0}`: "increment"})
	h := c.Increment("k")
	if _, err := h.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Close()
	for _, call := range []func() error{
		func() error { _, err := h.Next(t.Context()); return err },
		func() error { _, err := h.NextN(t.Context(), make([]int64, 2)); return err },
		func() error { _, err := c.Increment("later").Next(t.Context()); return err },
		func() error { _, err := c.Formatted("later").Next(t.Context()); return err },
		func() error { _, err := c.Snowflake("later").Next(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
	}
}

// TestOptions: the error has all faults.
func TestOptions(t *testing.T) {
	_, err := client.New(client.Options{
		URLs: []string{"localhost:8080", "http://", "http://me:hidden@host", "http://host/?a=b", "%zz", "https://good.example/base"}, Token: "a b",
		Timeout: -1, Retry: client.Retry{Attempts: -1, First: -1, Max: -1}, Ahead: -1,
	})
	if err == nil {
		t.Fatal("the options were accepted")
	}
	for _, want := range []string{"URLs[0]", "URLs[1]", "URLs[2]", "URLs[3]", "URLs[4]", "Token", "Timeout", "Retry.Attempts", "Retry.First", "Retry.Max", "Ahead"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "URLs[5]") || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "a b") {
		t.Error(err)
	}
	if _, err := client.New(client.Options{}); err == nil || !strings.Contains(err.Error(), "URLs is empty") {
		t.Error(err)
	}
}

// TestSnowflakeService makes snowflake IDs of 8 clients of two workers: no ID comes
// twice, those of a client increase, and each client has a worker id of its own.
func TestSnowflakeService(t *testing.T) {
	shared := storetest.Memory(t)
	urls := []string{startWorker(t, shared).URL, startWorker(t, shared).URL}
	save(t, newClient(t, client.Options{URLs: urls}), "snowflake", `{"key": "k", "base_ts": 1767225600000, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`)
	var all sync.WaitGroup
	results := make([][]int64, 8)
	for i := range results {
		results[i] = make([]int64, 3000)
		c := newClient(t, client.Options{URLs: []string{urls[i%2]}})
		all.Go(func() {
			if _, err := c.Snowflake("k").NextN(t.Context(), results[i]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	owners, seen := map[int64]int{}, map[int64]bool{}
	for i, ids := range results {
		if !slices.IsSorted(ids) {
			t.Errorf("the IDs of client %d do not increase", i)
		}
		for _, id := range ids {
			if owner, ok := owners[id>>12&1023]; ok && owner != i || seen[id] {
				t.Fatalf("%d of client %d: its worker id is client %d's, or it came before", id, i, owner)
			}
			owners[id>>12&1023], seen[id] = i, true
		}
	}
}
