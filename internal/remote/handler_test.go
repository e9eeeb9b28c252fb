// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
)

// serveHTTP serves an engine as a page does, and returns the page's URL.
func serveHTTP(tb testing.TB, writes bool) string {
	tb.Helper()
	h := remote.NewHandler(enginetest.InProcess(tb), remote.Embedded, writes)
	mux := http.NewServeMux()
	mux.Handle("/studio"+remote.Path, h)
	mux.HandleFunc("/elsewhere"+remote.Path, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://db.example.com/?x=1", http.StatusFound)
	})
	mux.Handle("/wrapped"+remote.Path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(struct{ http.ResponseWriter }{w}, r) }))
	mux.HandleFunc("/refused"+remote.Path, func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "not "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	})
	mux.HandleFunc("/older"+remote.Path, func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Upgrade", "kazahana-transactions/0")
		h.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	tb.Cleanup(h.Close)
	return server.URL + "/studio/"
}

// TestConformanceOverHTTP checks that a database keeps the contract over the connection of a request.
func TestConformanceOverHTTP(t *testing.T) {
	kvtest.RunConformance(t, func(tb testing.TB) kv.Database {
		db, err := remote.Attach(context.Background(), remote.AttachOptions{URL: serveHTTP(tb, true), Token: "t", Write: true})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { db.Close() })
		return db
	})
}

// TestAttachSaysWhatIsWrong: each error says what to do, and none has the token.
func TestAttachSaysWhatIsWrong(t *testing.T) {
	at := serveHTTP(t, false)
	base := strings.TrimSuffix(at, "/studio/")
	ended := httptest.NewServer(nil)
	ended.Close()
	for url, want := range map[string]string{
		"localhost:8081":            "it is not a URL such as",
		"ftp://localhost/":          "it is not a URL such as",
		at + "?token=x":             "the token is not a part of it",
		"http://admin.example.com/": "unencrypted: use https",
		base + "/nothing":           "there is no page over a database at this URL",
		base + "/elsewhere/":        "the answer is a redirect to https://db.example.com: name that URL",
		base + "/wrapped":           "wraps the ResponseWriter",
		base + "/refused":           "401 Unauthorized: not Bearer",
		base + "/older":             "different versions",
		at:                          "for reading only: it must set studio.Options.Write",
		ended.URL:                   "connection refused",
	} {
		_, err := remote.Attach(t.Context(), remote.AttachOptions{URL: url, Token: "hidden", Write: true})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}

// TestManyConnections: the handler lets in only so many, and another one when one of them has ended.
func TestManyConnections(t *testing.T) {
	at := serveHTTP(t, false)
	attach := func() (io.Closer, error) { return remote.Attach(t.Context(), remote.AttachOptions{URL: at}) }
	var last io.Closer
	for {
		db, err := attach()
		if err != nil {
			if !strings.Contains(err.Error(), "16 clients are attached") {
				t.Fatal(err)
			}
			break
		}
		t.Cleanup(func() { db.Close() })
		last = db
	}
	last.Close()
	for {
		db, err := attach()
		if err == nil {
			db.Close()
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
