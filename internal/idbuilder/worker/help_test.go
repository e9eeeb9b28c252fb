// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

const adminToken = "an admin token for tests alone"

// service is a worker, and the client of a test.
type service struct {
	testing.TB
	*worker.Worker
	store store.Store
}

// options have a clock that begins on 22 November 2026, 15:04:05, even in a bubble
// of synctest.
func options() worker.Options {
	begun := time.Now()
	day := time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)
	now := func() time.Time { return day.Add(time.Since(begun)) }
	return worker.Options{
		AdminToken: adminToken, Validity: time.Second,
		Now: now, Monotonic: func() time.Duration { return time.Since(begun) },
		Version: "1.2.3", Backend: "embedded",
	}
}

func start(t testing.TB, o worker.Options) service {
	t.Helper()
	return startOn(t, storetest.Memory(t), o)
}

func startOn(t testing.TB, s store.Store, o worker.Options) service {
	t.Helper()
	return startWith(t, s, o, worker.Hooks{})
}

func startWith(t testing.TB, s store.Store, o worker.Options, h worker.Hooks) service {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	w, err := worker.New(s, o, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return service{t, w, s}
}

// answer is the answer to a request.
type answer struct {
	status  int
	header  http.Header
	code    int
	message string
	data    map[string]any
	text    string
}

// send sends a request with an Authorization header.
func (s service) send(method, target, authorization, body string, headers ...string) (a answer) {
	s.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	b, _ := io.ReadAll(rec.Result().Body)
	a.status, a.header, a.text = rec.Code, rec.Header(), string(b)
	checkConforms(s, method, r.URL.Path, a.status, a.header, a.text)
	var reply struct {
		Code    *int
		Message string
		Data    map[string]any
	}
	if rec.Header().Get("Content-Type") == "application/json" && rec.Header().Get("Content-Encoding") == "" && target != "/openapi.json" {
		d := json.NewDecoder(strings.NewReader(a.text))
		d.UseNumber()
		if err := d.Decode(&reply); err != nil || reply.Code == nil {
			s.Fatalf("%s %s: %v in %s", method, target, err, a.text)
		}
		a.code, a.message, a.data = *reply.Code, reply.Message, reply.Data
	}
	return a
}

// sendAsAdmin sends a request with the admin token, which must succeed.
func (s service) sendAsAdmin(method, target, body string) answer {
	s.Helper()
	a := s.send(method, target, "Bearer "+adminToken, body)
	if a.code != 0 || a.status != http.StatusOK {
		s.Fatalf("%s %s %s: %d %s", method, target, body, a.status, a.text)
	}
	return a
}

// wantRefusal sends a request with the admin token, which must be refused with a message that
// contains a text.
func (s service) wantRefusal(method, target, body string, status, code int, says string) {
	s.Helper()
	a := s.send(method, target, "Bearer "+adminToken, body)
	if a.status != status || a.code != code || !strings.Contains(a.message, says) {
		s.Errorf("%s %s %s: %d %s\nwant %d, code %d, a message with %q", method, target, body, a.status, a.text, status, code, says)
	}
}

// ids returns the IDs of an answer as texts, which must be the same in both dialects.
func (a answer) ids(t testing.TB) (ids []string) {
	t.Helper()
	texts := func(name string) (ids []string) {
		list, _ := a.data[name].([]any)
		for _, id := range list {
			switch id := id.(type) {
			case json.Number:
				ids = append(ids, id.String())
			case string:
				ids = append(ids, id)
			}
		}
		return ids
	}
	if id, ids := texts("id"), texts("ids"); len(id) == 0 || strings.Join(id, " ") != strings.Join(ids, " ") {
		t.Fatalf("id is %v, ids is %v in %d %s", id, ids, a.status, a.text)
	}
	return texts("id")
}
