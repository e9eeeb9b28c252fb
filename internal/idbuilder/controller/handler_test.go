// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// TestHandler checks the answers to requests of all kinds.
func TestHandler(t *testing.T) {
	c, err := New(storetest.Documents(), Options{
		Authorize: authorize, Logger: quiet,
		AuthorizeBalance: func(r *http.Request) error {
			if r.Header.Get("Authorization") == "" {
				return fmt.Errorf("no token")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Register(t.Context(), Registration{Instance: "w1", Address: "http://w1:1"})
	if err != nil {
		t.Fatal(err)
	}
	good := `{"instance":"w2","address":"http://w2:1","started_at":"2026-03-01T09:00:00Z","requests_per_second":1.5,"later":{"x":1}}`
	beat := fmt.Sprintf(`{"instance":"w1","address":"http://w1:1","lease_key":%q}`, a.LeaseKey)
	const admin, other = "Bearer admin", "Bearer other"
	for _, q := range []struct {
		method, path, token, body string
		status                    int
		code                      api.Code
		says                      string
	}{
		{"POST", RegisterPath, admin, good, 200, api.OK, "success"},
		{"POST", RegisterPath, "", good, 401, api.Authentication, ""},
		{"POST", RegisterPath, other, good, 401, api.Authentication, ""},
		{"POST", RegisterPath, admin, `{`, 400, api.Invalid, "JSON"},
		{"POST", RegisterPath, admin, `[]`, 400, api.Invalid, "JSON"},
		{"POST", RegisterPath, admin, ``, 400, api.Invalid, "JSON"},
		{"POST", RegisterPath, admin, `{}`, 400, api.Invalid, "instance"},
		{"POST", RegisterPath, admin, `{"instance":"a b","address":"http://w:1"}`, 400, api.Invalid, "instance"},
		{"POST", RegisterPath, admin, `{"instance":"w","address":"w:1"}`, 400, api.Invalid, "address"},
		{"POST", RegisterPath, admin, `{"instance":"w","address":"http://u:p@w:1"}`, 400, api.Invalid, "address"},
		{"POST", RegisterPath, admin, `{"instance":"w","address":"http://w:1","cached":-1}`, 400, api.Invalid, "cached"},
		{"POST", RegisterPath, admin, `{"instance":"w","address":"http://w:1","version":"` + strings.Repeat("x", 101) + `"}`, 400, api.Invalid, "version"},
		{"POST", RegisterPath, admin, `"` + strings.Repeat("x", maxBody) + `"`, 413, api.Invalid, "16384"},
		{"POST", HeartbeatPath, admin, beat, 200, api.OK, "success"},
		{"POST", HeartbeatPath, other, beat, 401, api.Authentication, ""},
		{"POST", HeartbeatPath, admin, good, 400, api.Invalid, "lease_key"},
		{"POST", HeartbeatPath, admin, `{"instance":"w1","address":"http://w1:1","lease_key":"1.2.x"}`, 404, api.NotFound, "register"},
		{"GET", WorkersPath, admin, "", 200, api.OK, "success"},
		{"GET", WorkersPath, other, "", 401, api.Authentication, ""},
		{"GET", BalancePath, other, "", 200, api.OK, "success"},
		{"GET", BalancePath, "", "", 401, api.Authentication, ""},
		{"POST", LeavePath, other, beat, 401, api.Authentication, ""},
		{"POST", LeavePath, admin, `{"instance":"","lease_key":"1.2.x"}`, 400, api.Invalid, "instance"},
		{"POST", LeavePath, admin, `{"instance":"w1","lease_key":"x"}`, 400, api.Invalid, "lease_key"},
		{"POST", LeavePath, admin, beat, 200, api.OK, "success"},
		{"POST", LeavePath, admin, beat, 200, api.OK, "success"},
		{"POST", HeartbeatPath, admin, beat, 404, api.NotFound, "register"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), q.method, q.path, strings.NewReader(q.body))
		if q.token != "" {
			r.Header.Set("Authorization", q.token)
		}
		w := httptest.NewRecorder()
		c.Handler().ServeHTTP(w, r)
		var reply api.Reply[json.RawMessage]
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
			t.Errorf("%s %s %.60s: %v: %s", q.method, q.path, q.body, err, w.Body)
		}
		if w.Code != q.status || reply.Code != q.code || !strings.Contains(reply.Message, q.says) || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s %.60s: got %d %d %q, want %d %d %q", q.method, q.path, q.body, w.Code, reply.Code, reply.Message, q.status, q.code, q.says)
		}
		if strings.Contains(reply.Message, a.LeaseKey) {
			t.Errorf("the message has a lease key: %s", reply.Message)
		}
	}
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", RegisterPath, nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET of a POST path: %d", w.Code)
	}
}

// TestStrangeAnswers: a client asks a server that is not a controller, or one that answers
// nonsense.
func TestStrangeAnswers(t *testing.T) {
	for _, answer := range []string{
		``, `{}`, `<html>`, `{"code":0,"message":"success","data":null}`, `{"code":0,"data":{"worker_id":1,"lease_key":"k","lease_duration":1e300,"heartbeat_interval":1}}`,
		`{"code":0,"data":{"worker_id":1,"lease_key":"k","lease_duration":30,"heartbeat_interval":-1}}`, `{"code":0,"data":{"worker_id":"1"}}`,
		`{"code":3001,"message":"x"}`, `{"code":0,"data":"` + strings.Repeat("x", maxAnswer) + `"}`,
	} {
		for _, status := range []int{200, 302, 404, 500} {
			n := newNetwork()
			n.hosts["a"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere/")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(answer))
			})
			n.hosts["elsewhere"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the token went elsewhere") })
			c, err := NewClient(ClientOptions{Endpoints: []string{"http://a"}, Token: "admin", Address: "http://w", Transport: n, Logger: quiet})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.sendHeartbeat(t.Context()); err == nil || c.State().Registered {
				t.Errorf("%d %.80q is taken for an answer", status, answer)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{},
		{Authorize: authorize, Heartbeat: time.Millisecond},
		{Authorize: authorize, Lease: time.Second, Heartbeat: time.Second},
		{Authorize: authorize, Lease: 13 * time.Hour},
		{Authorize: authorize, Timeout: -1},
	} {
		if _, err := New(storetest.Documents(), o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	good := ClientOptions{Endpoints: []string{"http://a"}, Token: "secret-token", Address: "http://w"}
	for name, change := range map[string]func(*ClientOptions){
		"no endpoint": func(o *ClientOptions) { o.Endpoints = nil }, "no URL": func(o *ClientOptions) { o.Endpoints = []string{"a:1"} },
		"password": func(o *ClientOptions) { o.Endpoints = []string{"http://u:secret-token@a"} },
		"no token": func(o *ClientOptions) { o.Token = "" }, "token": func(o *ClientOptions) { o.Token = "a\nsecret-token" },
		"no address": func(o *ClientOptions) { o.Address = "" }, "timeout": func(o *ClientOptions) { o.Timeout = -1 },
	} {
		o := good
		change(&o)
		_, err := NewClient(o)
		if err == nil || strings.Contains(err.Error(), "secret-token") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", good, good, &good)} {
		if strings.Contains(text, "secret-token") {
			t.Errorf("the token is printed: %s", text)
		}
	}
}
