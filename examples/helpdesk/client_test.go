// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

const adminToken = "0123456789abcdef0123456789abcdef"

// testService is a service with its two servers, without the work in the background.
type testService struct {
	*service
	api, admin string
}

func openService(t *testing.T, engine kv.Database) *testService {
	t.Helper()
	s := newTestService(t, engine)
	api, admin := httptest.NewServer(s.api), httptest.NewServer(s.admin)
	t.Cleanup(func() {
		api.Close()
		admin.Close()
	})
	return &testService{s, api.URL, admin.URL}
}

// newTestService returns a service without servers, which is closed when the test ends.
func newTestService(t *testing.T, engine kv.Database) *service {
	t.Helper()
	s, err := newService(t.Context(), engine, config{adminToken: adminToken, backups: t.TempDir()}, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// addTenant adds a tenant and returns what sends requests as it does.
func (s *testService) addTenant(t *testing.T, name string) *caller {
	t.Helper()
	answer := s.operator(t).send("POST", "/tenants", `{"name":"`+name+`"}`).want(http.StatusCreated)
	return &caller{t, s.api, answer.text("key")}
}

func (s *testService) operator(t *testing.T) *caller { return &caller{t, s.admin, adminToken} }

// caller sends requests with a token.
type caller struct {
	t     *testing.T
	base  string
	token string
}

// answer is the answer to a request.
type answer struct {
	t       *testing.T
	request string
	status  int
	header  http.Header
	body    string
}

// send sends a request. Headers are written "Name: value".
func (c *caller) send(method, path, body string, headers ...string) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{c.t, method + " " + path, response.StatusCode, response.Header, string(text)}
}

// want checks the status.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s: status %d, want %d: %s", a.request, a.status, status, a.body)
	}
	return a
}

// text returns a member of the body.
func (a answer) text(name string) string {
	a.t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(a.body), &members); err != nil {
		a.t.Fatalf("%s: %v in %s", a.request, err, a.body)
	}
	text, ok := members[name].(string)
	if !ok {
		a.t.Fatalf("%s: no text %q in %s", a.request, name, a.body)
	}
	return text
}

// subjects returns the subjects of a page of tickets, and the token of the next one.
func (a answer) subjects() (subjects []string, next string) {
	a.t.Helper()
	var page struct {
		Items []struct{ Subject string }
		Next  string
	}
	if err := json.Unmarshal([]byte(a.want(http.StatusOK).body), &page); err != nil {
		a.t.Fatal(err)
	}
	for _, item := range page.Items {
		subjects = append(subjects, item.Subject)
	}
	return subjects, page.Next
}
