// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// ask sends a request to the guard, and returns the answer.
func ask(t *testing.T, g *Guard, r *http.Request) *http.Response {
	t.Helper()
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	w := httptest.NewRecorder()
	g.Protect(say("inside"), say("outside")).ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, answer *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func newGuard(t *testing.T, o Options) *Guard {
	t.Helper()
	if o.Token == "" {
		o.Token = NewToken()
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// enter returns the cookie that the link gives.
func enter(t *testing.T, g *Guard) *http.Cookie {
	t.Helper()
	answer := ask(t, g, httptest.NewRequest(http.MethodGet, g.Link("http://127.0.0.1:4711/"), nil))
	cookies := answer.Cookies()
	if answer.StatusCode != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("the link answers %d with the cookies %v", answer.StatusCode, cookies)
	}
	return cookies[0]
}

func TestTokenBecomesCookie(t *testing.T) {
	g := newGuard(t, Options{})
	link, err := url.Parse(g.Link("http://127.0.0.1:4711/debug/data/"))
	if err != nil || link.Path != "/debug/data/" {
		t.Fatalf("the link is %v: %v", link, err)
	}
	token := link.Query().Get("token")
	c := enter(t, g)
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "" {
		t.Errorf("the cookie is %v", c)
	}
	if len(token) < 43 || len(c.Value) < 43 || c.Value == token {
		t.Errorf("token %q and cookie %q", token, c.Value)
	}
	deep := httptest.NewRequest(http.MethodGet, "http://localhost:4711/debug/data/records?p=a%22%3E%3Cscript%3E&token="+token, nil)
	page := text(t, ask(t, g, deep))
	if strings.Contains(page, token) || strings.Contains(page, "<script>") || !strings.Contains(page, `url=./records?p=a%22%3E%3Cscript%3E"`) {
		t.Errorf("a deep link with a token leads to the page %s", page)
	}
}

// TestEntry enters with the token in the body of a request, as the page without a session does.
func TestEntry(t *testing.T) {
	token := NewToken()
	g := newGuard(t, Options{Token: token, Hosts: []string{"db.example.com"}})
	for name, c := range map[string]struct {
		origin, path, body string
		want               int
		secure             bool
	}{
		"the token":              {"http://db.example.com", "/enter", `{"token":"` + token + `"}`, http.StatusNoContent, false},
		"over TLS, by a proxy":   {"https://db.example.com", "/enter", `{"token":"` + token + `"}`, http.StatusNoContent, true},
		"another token":          {"https://db.example.com", "/enter", `{"token":"` + NewToken() + `"}`, http.StatusUnauthorized, false},
		"no token":               {"https://db.example.com", "/enter", `{}`, http.StatusUnauthorized, false},
		"no JSON":                {"https://db.example.com", "/enter", token, http.StatusUnauthorized, false},
		"more than a token":      {"https://db.example.com", "/enter", `{"x":"` + strings.Repeat("x", maxEntry) + `","token":"` + token + `"}`, http.StatusUnauthorized, false},
		"a page of another site": {"https://evil.example", "/enter", `{"token":"` + token + `"}`, http.StatusForbidden, false},
		"another path":           {"https://db.example.com", "/api/enter", `{"token":"` + token + `"}`, http.StatusOK, false},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(c.body))
		r.Host = "db.example.com"
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Content-Type", "application/json")
		answer := ask(t, g, r)
		if answer.StatusCode != c.want || c.want == http.StatusOK && text(t, answer) != "outside" {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, c.want)
		}
		cookies := answer.Cookies()
		if enters := c.want == http.StatusNoContent; enters != (len(cookies) == 1) || enters && (cookies[0].Secure != c.secure || cookies[0].Path != "" || !cookies[0].HttpOnly) {
			t.Errorf("%s: cookies %v", name, cookies)
		}
	}
}

// TestPrograms: a program is let in by its token alone, and a page of a browser is not even with it.
func TestPrograms(t *testing.T) {
	token := NewToken()
	g := newGuard(t, Options{Token: token})
	for name, c := range map[string]struct {
		host, authorization string
		header              [2]string
		want                int
	}{
		"the token":            {"localhost:1", "Bearer " + token, [2]string{}, 0},
		"another":              {"localhost:1", "Bearer " + NewToken(), [2]string{}, http.StatusUnauthorized},
		"none":                 {"localhost:1", "", [2]string{}, http.StatusUnauthorized},
		"another host":         {"evil.example", "Bearer " + token, [2]string{}, http.StatusMisdirectedRequest},
		"a page":               {"localhost:1", "Bearer " + token, [2]string{"Origin", "http://localhost:1"}, http.StatusForbidden},
		"the bar of addresses": {"localhost:1", "Bearer " + token, [2]string{"Sec-Fetch-Site", "none"}, http.StatusForbidden},
	} {
		r := httptest.NewRequest(http.MethodGet, "/transactions", nil)
		r.Host = c.host
		r.Header.Set("Authorization", c.authorization)
		r.Header.Set(c.header[0], c.header[1])
		if status, why := g.CheckProgram(r); status != c.want || (why == "") != (status == 0) {
			t.Errorf("%s: %d %s, want %d", name, status, why, c.want)
		}
	}
}

func TestSessions(t *testing.T) {
	g, other := newGuard(t, Options{}), newGuard(t, Options{})
	mine, foreign := enter(t, g), enter(t, other)
	if mine.Name == foreign.Name {
		t.Error("two servers of a machine have cookies of one name")
	}
	forged := *mine
	forged.Value = foreign.Value
	for name, c := range map[string]struct {
		cookie *http.Cookie
		query  string
		want   string
	}{
		"with the cookie":       {mine, "", "inside"},
		"without":               {nil, "", "outside"},
		"another server's":      {foreign, "", "outside"},
		"another value":         {&forged, "", "outside"},
		"a wrong token":         {nil, "?token=" + strings.Repeat("x", 43), "outside"},
		"an empty token":        {nil, "?token=", "outside"},
		"cookie, wrong token":   {mine, "?token=x", "inside"},
		"the cookie as a token": {nil, "?token=" + mine.Value, "outside"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4711/api/info"+c.query, nil)
		if c.cookie != nil {
			r.AddCookie(c.cookie)
		}
		if got := text(t, ask(t, g, r)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestHosts asks as a page of another site does after its name was pointed at this machine.
func TestHosts(t *testing.T) {
	g := newGuard(t, Options{Hosts: []string{"db.example.com:8080"}})
	c := enter(t, g)
	for host, known := range map[string]bool{
		"127.0.0.1:4711": true, "127.8.8.8": true, "localhost:1": true, "LOCALHOST": true, "[::1]:4711": true, "[::1]": true, "db.example.com:8080": true, "DB.example.com:8080": true,
		"db.example.com": false, "db.example.com:8081": false, "evil.example": false, "evil.example:4711": false, "localhost.evil.example:4711": false, "127.0.0.1.evil.example": false,
		"10.0.0.1:4711": false, "": false, "[::1": false, "localhost:1@evil.example": false,
	} {
		for _, link := range []string{"http://127.0.0.1:4711/", g.Link("http://127.0.0.1:4711/")} {
			r := httptest.NewRequest(http.MethodGet, link, nil)
			r.Host = host
			r.AddCookie(c)
			answer := ask(t, g, r)
			if got := answer.StatusCode == http.StatusOK; got != known {
				t.Errorf("%q: %d", host, answer.StatusCode)
			}
			if !known && len(answer.Cookies()) > 0 {
				t.Errorf("%q gets a cookie", host)
			}
		}
	}
}

// TestOpen asks a server without tokens, over its own and over other interfaces.
func TestOpen(t *testing.T) {
	loopback, other := &net.TCPAddr{IP: net.IPv6loopback, Port: 7320}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7320}
	for _, test := range []struct {
		at     net.Addr
		host   string
		header [2]string
		want   int
	}{
		{at: loopback, host: "[::1]:7320", want: 200},
		{at: loopback, host: "db.example.com:8080", want: 200},
		{at: loopback, host: "evil.example:7320", want: 403},
		{at: loopback, host: "localhost", header: [2]string{"Sec-Fetch-Site", "none"}, want: 200},
		{at: other, host: "id.example.com", want: 200},
		{at: other, host: "id.example.com", header: [2]string{"Origin", "http://id.example.com"}, want: 200},
		{at: other, host: "id.example.com", header: [2]string{"Origin", "http://evil.example"}, want: 403},
		{at: other, host: "id.example.com", header: [2]string{"Sec-Fetch-Site", "same-site"}, want: 403},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, test.at))
		r.Host = test.host
		if test.header[0] != "" {
			r.Header.Set(test.header[0], test.header[1])
		}
		w := httptest.NewRecorder()
		ProtectOpen(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), []string{"db.example.com:8080"}).ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%v as %q with %q answers %d, want %d", test.at, test.host, test.header, w.Code, test.want)
		}
	}
}

func TestOrigins(t *testing.T) {
	g := newGuard(t, Options{})
	c := enter(t, g)
	for name, header := range map[string]map[string]string{
		"inside: own":             {"Origin": "http://127.0.0.1:4711", "Content-Type": "application/json"},
		"inside: own, Chromium":   {"Origin": "http://127.0.0.1:4711", "Content-Type": "application/json; charset=utf-8", "Sec-Fetch-Site": "same-origin"},
		"refused: none":           {"Content-Type": "application/json"},
		"refused: null":           {"Origin": "null", "Content-Type": "application/json"},
		"refused: another site":   {"Origin": "https://evil.example", "Content-Type": "application/json"},
		"refused: another port":   {"Origin": "http://127.0.0.1:4712", "Content-Type": "application/json"},
		"refused: another name":   {"Origin": "http://localhost:4711", "Content-Type": "application/json"},
		"refused: another scheme": {"Origin": "file://127.0.0.1:4711", "Content-Type": "application/json"},
		"refused: cross-site":     {"Origin": "http://127.0.0.1:4711", "Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"},
		"refused: a form":         {"Origin": "http://127.0.0.1:4711", "Content-Type": "application/x-www-form-urlencoded"},
		"refused: a text":         {"Origin": "http://127.0.0.1:4711", "Content-Type": "text/plain"},
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			r := httptest.NewRequest(method, "http://127.0.0.1:4711/api/record/save", strings.NewReader("{}"))
			r.AddCookie(c)
			for k, v := range header {
				r.Header.Set(k, v)
			}
			answer := ask(t, g, r)
			if passes := answer.StatusCode == http.StatusOK; passes != strings.HasPrefix(name, "inside") {
				t.Errorf("%s: %s answers %d", name, method, answer.StatusCode)
			}
		}
	}
}

// TestReadsOfOtherPages asks the API as a browser does for pages of others.
func TestReadsOfOtherPages(t *testing.T) {
	g := newGuard(t, Options{})
	c := enter(t, g)
	for site, passes := range map[string]bool{"": true, "same-origin": true, "none": true, "same-site": false, "cross-site": false} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4711/api/records", nil)
		r.AddCookie(c)
		r.Header.Set("Sec-Fetch-Site", site)
		if answer := ask(t, g, r); (answer.StatusCode == http.StatusOK) != passes {
			t.Errorf("%q answers %d", site, answer.StatusCode)
		}
	}
}

// TestHeaders checks that every answer has the headers, also those to requests that are refused.
func TestHeaders(t *testing.T) {
	g := newGuard(t, Options{})
	for _, host := range []string{"127.0.0.1", "evil.example"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		h := ask(t, g, r).Header
		for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", host, name, h.Get(name), want)
			}
		}
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %s", host, want)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("the policy is %s", policy)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	g := newGuard(t, Options{})
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:4711/", io.LimitReader(endless{}, MaxBody+1))
	r.AddCookie(enter(t, g))
	r.Header.Set("Origin", "http://127.0.0.1:4711")
	r.Header.Set("Content-Type", "application/json")
	var err error
	g.Protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, err = io.Copy(io.Discard, r.Body) }), nil).ServeHTTP(httptest.NewRecorder(), r)
	if err == nil {
		t.Error("a body of more than MaxBody is read")
	}
}

// endless is a text without end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestOptionsSayWhatIsWrong(t *testing.T) {
	_, err := New(Options{Token: "short", Hosts: []string{""}})
	for _, want := range []string{"Token", "Hosts"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
