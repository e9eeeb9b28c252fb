// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
)

// TestEachRouteNeedsASession asks for every page and action without a session, and
// with one that has ended.
func TestEachRouteNeedsASession(t *testing.T) {
	s := start(t, Options{})
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	logged := s.login()
	ended := &visitor{service: s, cookie: logged.cookie}
	logged.post("logout").wantTo("./login")
	for _, v := range []*visitor{{service: s}, ended, {service: s, cookie: "x"}, {service: s, cookie: secret{1}.cookieValue()}} {
		for _, r := range s.console.sessionRoutes() {
			method, path, _ := strings.Cut(r.pattern, " /admin/")
			page := strings.TrimSuffix(path, "{$}")
			cookie := v.cookie
			var p shownPage
			if method == http.MethodGet {
				p = v.get(page + "?key=orders&type=increment")
			} else {
				p = v.post(page, "key", "orders", "typed", "orders", "size", "1", "type", "increment", "base", "7", "version", "1")
			}
			v.cookie = cookie
			switch {
			case r.fragment && p.status != http.StatusUnauthorized, !r.fragment && (p.status != http.StatusSeeOther || !strings.HasPrefix(p.header.Get("Location"), "./login")):
				t.Errorf("%s: %d to %q", r.pattern, p.status, p.header.Get("Location"))
			}
			if strings.Contains(p.text, "orders") {
				t.Errorf("%s tells of a key: %s", r.pattern, p.text)
			}
		}
	}
	if c, _, err := s.Config(t.Context(), "orders"); err != nil || c.Increment.Base != 1000 || c.Version != 1 {
		t.Errorf("the key was changed: %+v, %v", c, err)
	}
}

func TestLogin(t *testing.T) {
	s := start(t, Options{})
	v := &visitor{service: s}
	v.get("login").wantPage(http.StatusOK, `type="password"`, `<label for="token">`)
	v.post("login", "token", "wrong").wantPage(http.StatusUnauthorized, "not a valid admin token", `role="alert"`).wantNo("wrong")
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	key, err := s.Tokens().Key(t.Context(), adminToken, "orders")
	if err != nil {
		t.Fatal(err)
	}
	v.post("login", "token", key.Text).wantPage(http.StatusForbidden, "An admin token is needed").wantNo(key.Text)
	p := v.post("login", "token", adminToken)
	p.wantTo("./")
	cookie := p.header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Max-Age=28800"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("the cookie lacks %s: %s", part, cookie)
		}
	}
	if strings.Contains(cookie, "Path") || strings.Contains(cookie, "Secure") {
		t.Errorf("the cookie is %s", cookie)
	}
	first := v.cookie
	if v.post("login", "token", adminToken).wantTo("./"); v.cookie == first {
		t.Error("a second login has the same session")
	}
	again := &visitor{service: s, cookie: first}
	again.get("").wantTo("./login")
	if p := v.post("logout"); !strings.Contains(p.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("the cookie stays: %s", p.header.Get("Set-Cookie"))
	}
}

// TestCookieIsSecureUnderTLS also holds behind a proxy that ends TLS.
func TestCookieIsSecureUnderTLS(t *testing.T) {
	for _, c := range []struct {
		address, proto string
		options        Options
	}{{"https://ids.example/admin/login", "", Options{}}, {"http://ids.example/admin/login", "", Options{SecureCookie: true}}, {"http://ids.example/admin/login", "https", Options{}}} {
		v := &visitor{service: start(t, c.options)}
		r := httptest.NewRequest(http.MethodPost, c.address, strings.NewReader("token="+strings.ReplaceAll(adminToken, " ", "+")))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-Proto", c.proto)
		if p := v.sendRequest(r); !strings.Contains(p.header.Get("Set-Cookie"), "; Secure") {
			t.Errorf("%s %q: the cookie is %q", c.address, c.proto, p.header.Get("Set-Cookie"))
		}
	}
}

// TestNextPage: the login leads to pages of the console only.
func TestNextPage(t *testing.T) {
	s := start(t, Options{})
	for next, want := range map[string]string{
		"key?key=orders": "./key?key=orders", "keys": "./keys?", "": "./", "https://evil.example/": "./", "//evil.example": "./", "/\\evil.example": "./",
		"../../evil": "./", "logout": "./", "charts": "./", "javascript:alert(1)": "./", "keys/../..//evil.example": "./", "\n//evil.example": "./",
	} {
		v := &visitor{service: s}
		v.post("login", "token", adminToken, "next", next).wantTo(want)
		s.console.throttle = throttle{}
	}
	v := &visitor{service: s}
	v.get("key?key=a%2Fb").wantTo("./login?next=key%3Fkey%3Da%252Fb")
	v.get("login?next=https://evil.example").wantNo("evil")
}

// TestLoginsAreLimited: after some wrong tokens from an address, which may be a proxy's, wrong ones are
// refused for a while, and the right one is not.
func TestLoginsAreLimited(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := start(t, Options{Now: func() time.Time { return now }})
	v := &visitor{service: s}
	for range loginsAtOnce {
		v.post("login", "token", "wrong").wantPage(http.StatusUnauthorized)
	}
	p := v.post("login", "token", "wrong").wantPage(http.StatusTooManyRequests, "too many attempts")
	if p.header.Get("Retry-After") != "6" || v.cookie != "" {
		t.Errorf("Retry-After is %q, the cookie %q", p.header.Get("Retry-After"), v.cookie)
	}
	administrator := &visitor{service: s}
	administrator.post("login", "token", adminToken).wantTo("./")
	now = now.Add(loginEvery)
	v.post("login", "token", "wrong").wantPage(http.StatusUnauthorized)
}

func TestThrottleByAddress(t *testing.T) {
	var l throttle
	now := time.Now()
	blocked := func(addr string) bool { return l.countAttempt(addr, now) > 0 }
	for range loginsAtOnce {
		blocked("10.0.0.1:1000")
		blocked("[2001:db8::1]:1000")
	}
	for addr, want := range map[string]bool{
		"10.0.0.1:2000": true, "10.0.0.2:1000": false, "[::ffff:10.0.0.1]:7": true, "[2001:db8::ffff]:9": true, "[2001:db8:0:1::1]:9": false,
	} {
		if blocked(addr) != want {
			t.Errorf("%s: blocked is %v", addr, !want)
		}
	}
}

func TestThrottleIsBounded(t *testing.T) {
	var l throttle
	now := time.Now()
	for i := range maxAddresses + 100 {
		l.countAttempt(string([]byte("10."))+decimal(float64(i/65536))+"."+decimal(float64(i/256%256))+"."+decimal(float64(i%256))+":1", now)
	}
	if len(l.byAddr) != maxAddresses {
		t.Errorf("%d addresses", len(l.byAddr))
	}
	if l.countAttempt("192.0.2.1:1", now) == 0 {
		t.Error("a further address is not limited while there is no room")
	}
	if l.countAttempt("192.0.2.1:1", now.Add(time.Hour)); len(l.byAddr) != 1 {
		t.Errorf("%d addresses after an hour", len(l.byAddr))
	}
}

func TestSessionEnds(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := start(t, Options{Session: time.Hour, Now: func() time.Time { return now }})
	v := s.login()
	now = now.Add(time.Hour - time.Second)
	v.get("").wantPage(http.StatusOK)
	now = now.Add(time.Second)
	v.get("").wantTo("./login")
}

// TestSessionsOnAllWorkers also ends a session when the admin token is reset.
func TestSessionsOnAllWorkers(t *testing.T) {
	a := start(t, Options{})
	b := startOn(t, a.store, Options{})
	admin, err := a.Tokens().ResetAdmin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	on := func(s service, v *visitor) *visitor { return &visitor{service: s, cookie: v.cookie} }
	v := &visitor{service: a}
	v.post("login", "token", admin).wantTo("./")
	on(b, v).get("").wantPage(http.StatusOK)
	other := on(b, v)
	other.post("logout")
	v.get("").wantTo("./login")

	v.post("login", "token", admin).wantTo("./")
	if _, err := b.Tokens().ResetAdmin(t.Context()); err != nil {
		t.Fatal(err)
	}
	on(a, v).get("").wantTo("./login")
	on(b, v).get("").wantTo("./login")
}

// TestStoreDoesNotRevealTokens checks that the store has neither the admin token nor the cookie.
func TestStoreDoesNotRevealTokens(t *testing.T) {
	s := start(t, Options{})
	v := s.login()
	docs, err := s.store.List(t.Context(), sessionKind, store.ListOptions{})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d sessions, %v", len(docs), err)
	}
	id, err := parseSecret(v.cookie)
	if err != nil {
		t.Fatal(err)
	}
	d := docs[0]
	if d.Expires.IsZero() {
		t.Error("the session's document does not expire")
	}
	for name, text := range map[string][]byte{"the admin token": []byte(adminToken), "the cookie": []byte(v.cookie), "the secret": id[:]} {
		if bytes.Contains(d.Value, text) || strings.Contains(d.Key, string(text)) {
			t.Errorf("the store has %s: %s %s", name, d.Key, d.Value)
		}
	}
	forged := secret{1}
	if _, err := s.store.Put(t.Context(), sessionKind, store.Document{Key: forged.documentKey(), Value: d.Value}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.console.sessions.adminToken(t.Context(), forged); err == nil {
		t.Errorf("a session under another name yields %q", got)
	}
}

// TestFormats reads the cookie and the document of a session that an earlier version began,
// and begins one.
func TestFormats(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)
	open := func(t *testing.T) *sessions {
		return &sessions{store: storetest.Memory(t), lifetime: 8 * time.Hour, now: func() time.Time { return now }}
	}
	formats.Check(t, formats.Format{
		Name: "idbuilder/session",
		Write: func(t *testing.T) string {
			s := open(t)
			id, err := s.beginSession(t.Context(), adminToken)
			if err != nil {
				t.Fatal(err)
			}
			return cookieName + "=" + id.cookieValue() + "\n" + storetest.Dump(t, s.store, sessionKind)
		},
		Mask: func(_ *testing.T, example string) string { // the sizes stay
			example = regexp.MustCompile(`=[\w-]{43}\n`).ReplaceAllString(example, "=<43>\n")
			example = regexp.MustCompile(` [0-9a-f]{64} `).ReplaceAllString(example, " <64> ")
			return regexp.MustCompile(`"sealed":"[\w+/]{78}=="`).ReplaceAllString(example, `"sealed":"<78>=="`)
		},
		Read: func(t *testing.T, example string) {
			cookie, documents, _ := strings.Cut(example, "\n")
			s := open(t)
			storetest.Load(t, s.store, documents)
			value, found := strings.CutPrefix(cookie, cookieName+"=")
			id, err := parseSecret(value)
			if !found || err != nil {
				t.Fatalf("the cookie is %q: %v", cookie, err)
			}
			s.now = func() time.Time { return now.Add(8*time.Hour - 1) }
			if admin, err := s.adminToken(t.Context(), id); err != nil || admin != adminToken {
				t.Errorf("the session has the token %q, %v", admin, err)
			}
			s.now = func() time.Time { return now.Add(8 * time.Hour) }
			if _, err := s.adminToken(t.Context(), id); !errors.Is(err, errNoSession) {
				t.Errorf("after its end: %v, want errNoSession", err)
			}
		},
	})
}
