// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// TestOtherSitesChangeNothing sends forms as pages of other sites would, with the cookie of
// an admin, as if SameSite did not hold them back.
func TestOtherSitesChangeNothing(t *testing.T) {
	s := start(t, Options{})
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v := s.login()
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}},
		{"Sec-Fetch-Site": {"same-site"}},
		{"Origin": {"https://evil.example"}},
		{"Origin": {"null"}},
		{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"http://example.com"}},
	} {
		routes := append(s.console.sessionRoutes(), route{pattern: "POST /admin/login"})
		for _, r := range routes {
			method, path, _ := strings.Cut(r.pattern, " ")
			if method != http.MethodPost {
				continue
			}
			body := "key=orders&typed=orders&size=1&type=increment&base=7&version=1&action=save&token=" + strings.ReplaceAll(adminToken, " ", "+")
			q := httptest.NewRequest(method, path, strings.NewReader(body))
			q.Header = header.Clone()
			q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			p := v.sendRequest(q)
			p.wantPage(http.StatusForbidden, "another site")
			if p.header.Get("Set-Cookie") != "" {
				t.Errorf("%s sets a cookie", r.pattern)
			}
		}
	}
	c, _, err := s.Config(t.Context(), "orders")
	if err != nil || c.Version != 1 {
		t.Errorf("the key was changed: %+v, %v", c, err)
	}
	v.get("").wantPage(http.StatusOK)
}

var inline = regexp.MustCompile(`(?i)<script(?:>|[^>]*>[^<])|<style|\sstyle=|\son[a-z]+=|javascript:|https?://`)

// TestHeaders checks the headers of every page, and that no page needs what the headers forbid.
func TestHeaders(t *testing.T) {
	s := start(t, Options{})
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v := s.login()
	pages := []string{"login", "console.css", "console.js", "icon.svg", "nothing", "key?key=nothing", "new?type=increment", "new?type=formatted", "new?type=snowflake"}
	for _, r := range s.console.sessionRoutes() {
		if path, ok := strings.CutPrefix(r.pattern, "GET /admin/"); ok {
			pages = append(pages, strings.TrimSuffix(path, "{$}")+"?key=orders")
		}
	}
	for _, page := range pages {
		p := v.get(page)
		policy := p.header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s: %s", page, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is %s", page, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin", "Cache-Control": "no-store"} {
			if got := p.header.Get(name); got != want {
				t.Errorf("%s: %s is %q", page, name, got)
			}
		}
		if strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
			if found := inline.FindString(p.text); found != "" {
				t.Errorf("%s has %q, which the policy forbids", page, found)
			}
		}
	}
	css := assets["console.css"]
	if got := v.get(assetURL("console.css")).header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("%s: Cache-Control is %q", css.name, got)
	}
}

// TestNoTokens checks that only the page that shows a token on request has one.
func TestNoTokens(t *testing.T) {
	s := start(t, Options{})
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v := s.login()
	key, err := s.Tokens().Key(t.Context(), adminToken, "orders")
	if err != nil {
		t.Fatal(err)
	}
	v.post("token", "key", "orders").wantPage(http.StatusOK, key.Text)
	hidden := []string{adminToken, key.Text, v.cookie}
	for _, r := range s.console.sessionRoutes() {
		if path, ok := strings.CutPrefix(r.pattern, "GET /admin/"); ok {
			v.get(strings.TrimSuffix(path, "{$}") + "?key=orders&type=increment").wantNo(hidden...)
		}
	}
	v.post("generate", "key", "orders", "size", "3").wantPage(http.StatusOK, "1001", "1003").wantNo(hidden...)
	v.post("save", "type", "increment", "key", "", "base", "x").wantNo(hidden...)
}

// TestEscaping puts hostile texts wherever a user may type.
func TestEscaping(t *testing.T) {
	s := start(t, Options{})
	const hostile = `"><script>alert(1)</script><b x='` + "`{{.}}"
	s.saveConfig("formatted", `{"key": "k", "name": "<script>alert(2)</script>", "parts": [{"type": "fixed-chars", "value": "<script>alert(3)</script>"}, {"type": "auto-increment"}]}`)
	v := s.login()
	escaped := regexp.MustCompile(`<script>|<b x=`)
	for _, p := range []shownPage{
		v.get("key?key=k"), v.get("keys"), v.get("edit?key=k"), v.get("delete?key=k"), v.post("generate", "key", "k", "size", "1"), v.post("generate", "key", "k", "size", hostile),
		v.get("keys?prefix=" + strings.NewReplacer(" ", "+", `"`, "%22").Replace(hostile)), v.get("key?key=%22%3E%3Cscript%3E"), v.get("reset?key=%3Cscript%3E"),
		v.post("delete", "key", "k", "typed", hostile), v.post("save", "type", "increment", "key", hostile, "base", hostile, "name", hostile),
		v.post("preview", "type", "increment", "key", hostile, "base", hostile), v.post("preview", "type", "formatted", "parts[0].type", "fixed-chars", "parts[0].value", hostile, "parts[1].type", "auto-increment"),
		v.post("save", "type", hostile), v.get("login?next=" + strings.NewReplacer(" ", "+", `"`, "%22").Replace(hostile)),
	} {
		if found := escaped.FindString(p.text); found != "" {
			t.Errorf("%q is in %s", found, p.text)
		}
	}
}
