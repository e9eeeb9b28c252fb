// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// token opens the pages of the tests.
const token = "0123456789abcdef0123456789abcdef"

// site is a handler over a database, on a server.
type site struct {
	testing.TB
	*httptest.Server
	db     *persistable.DB
	pages  *Handler
	client *http.Client // with a session
}

// start serves a small database of several tenants.
func start(t testing.TB, o Options) *site {
	t.Helper()
	return startOn(t, openMemory(t), o)
}

// openMemory opens an empty database in memory.
func openMemory(t testing.TB) kv.Database {
	t.Helper()
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, engine) })
	return engine
}

// startOn writes the seeded database into the engine, and serves it.
func startOn(t testing.TB, engine kv.Database, o Options) *site {
	t.Helper()
	if err := bazaar.Seed(t.Context(), engine); err != nil {
		t.Fatal(err)
	}
	db, err := persistable.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(t, db) })
	return serve(t, db, o)
}

// serve serves a database. Measurements take as long as they need, unless the options say how long.
func serve(t testing.TB, db *persistable.DB, o Options) *site {
	t.Helper()
	if o.sizeWithin == 0 {
		o.sizeWithin = time.Hour
	}
	o.Token = token
	pages, err := New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pages.Close)
	jar, _ := cookiejar.New(nil) // it does not fail
	mux := http.NewServeMux()
	mux.Handle("/debug/data/", http.StripPrefix("/debug/data", pages))
	s := &site{t, httptest.NewServer(mux), db, pages, &http.Client{Jar: jar}}
	t.Cleanup(s.Server.Close)
	s.URL += "/debug/data" // a page below a path looks for everything below it
	answer, err := s.client.Get(pages.Link(s.URL + "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the link answers %d", answer.StatusCode)
	}
	return s
}

func closeAll(t testing.TB, closers ...io.Closer) {
	for _, c := range closers {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// get reads a resource, and returns the status.
func (s *site) get(path string, params url.Values, into any) int {
	s.Helper()
	answer, err := s.client.Get(s.URL + "/api/" + path + "?" + params.Encode())
	if err != nil {
		s.Fatal(err)
	}
	return s.read(answer, into)
}

// post sends a request as the page does, and returns the status.
func (s *site) post(path string, body, into any) int {
	s.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.URL+"/api/"+path, bytes.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://"+s.Listener.Addr().String())
	answer, err := s.client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	return s.read(answer, into)
}

func (s *site) read(answer *http.Response, into any) int {
	s.Helper()
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.Fatalf("%v: %s", err, text)
		}
	}
	return answer.StatusCode
}
