// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
)

var (
	rowLink  = regexp.MustCompile(`<th scope="row"><a href="key\?key=[^"]*">([^<]*)</a>`)
	nextLink = regexp.MustCompile(`href="(keys\?[^"]*)" rel="next"`)
)

// TestPaging follows the pages of a list, with and without a prefix.
func TestPaging(t *testing.T) {
	s := start(t, Options{})
	v := s.login()
	v.get("keys").wantPage(http.StatusOK, "There is no key yet")
	for i := range 2*keysOnPage + 5 {
		s.saveConfig("increment", fmt.Sprintf(`{"key": "a+%03d/é", "base": 0}`, i))
	}
	s.saveConfig("increment", `{"key": "b", "base": 0}`)
	for prefix, count := range map[string]int{"": 2*keysOnPage + 6, "a": 2*keysOnPage + 5, "a+00": 10, "b": 1} {
		seen := map[string]bool{}
		page, pages := "keys?prefix="+strings.ReplaceAll(prefix, "+", "%2B"), 0
		for page != "" {
			p := v.get(page).wantPage(http.StatusOK)
			if pages++; pages > 9 {
				t.Fatalf("prefix %q: the pages do not end", prefix)
			}
			for _, m := range rowLink.FindAllStringSubmatch(p.text, -1) {
				if seen[m[1]] {
					t.Errorf("%s is listed twice", m[1])
				}
				seen[m[1]] = true
			}
			if first := strings.Contains(p.text, ">First page<"); first != (pages > 1) {
				t.Errorf("page %d links to the first one: %v", pages, first)
			}
			page = ""
			if m := nextLink.FindStringSubmatch(p.text); m != nil {
				page = strings.ReplaceAll(m[1], "&amp;", "&")
			}
		}
		if want := (count + keysOnPage - 1) / keysOnPage; len(seen) != count || pages != want {
			t.Errorf("prefix %q: %d keys on %d pages, want %d on %d", prefix, len(seen), pages, count, want)
		}
	}
	d, err := s.store.Get(t.Context(), store.Configs, "b")
	if d.Value = []byte(`{"base":"damaged"}`); err == nil {
		_, err = s.store.Put(t.Context(), store.Configs, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	v.get("keys?prefix=b").wantPage(http.StatusOK, `<a href="key?key=b">b</a>`, "It cannot be read: ")
	v.get("keys?prefix=zzz").wantPage(http.StatusOK, "No key begins with “zzz”", "Show all keys")
	v.get("key?key=a%2B001%2F%C3%A9").wantPage(http.StatusOK, "a&#43;001/é")
}

func TestGenerate(t *testing.T) {
	s := start(t, Options{})
	v := s.login()
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v.post("generate", "key", "orders", "size", "2").wantPage(http.StatusOK, "2 made:", "<code>1001</code>", "<code>1002</code>")
	v.get("key?key=orders").wantPage(http.StatusOK, "<code>1003</code>").wantNo("<code>1002</code>")
	v.post("generate", "key", "orders", "size", "101").wantPage(http.StatusBadRequest, "allowed are 1 to 100", `value="101"`)
	v.post("generate", "key", "orders", "size", "many").wantPage(http.StatusBadRequest, "It is &#34;many&#34;")
	v.get("key?key=orders").wantPage(http.StatusOK, "<code>1003</code>")
	v.post("save", formatted("inv")...)
	v.post("generate", "key", "inv", "size", "1").wantPage(http.StatusOK, "1 made:", "0001</code>")
	s.saveConfig("snowflake", `{"key": "events", "base_ts": 0, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`)
	v.get("key?key=events").wantPage(http.StatusOK, "0 of 1,024").wantNo(`action="generate`)
	v.post("generate", "key", "events", "size", "1").wantPage(http.StatusBadRequest)
	v.post("generate", "key", "none", "size", "1").wantPage(http.StatusNotFound)
}

// TestTokens shows tokens, resets them, and finds that the old ones are refused.
func TestTokens(t *testing.T) {
	s := start(t, Options{})
	v := s.login()
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	field := regexp.MustCompile(`id="token-text"[^>]* value="([^"]+)"`)
	text := func(p shownPage) string {
		t.Helper()
		m := field.FindStringSubmatch(p.wantPage(http.StatusOK).text)
		if m == nil {
			t.Fatalf("no token: %s", p.text)
		}
		return m[1]
	}
	for _, key := range []string{"orders", "__global__"} {
		page := "key?key=orders"
		if key != "orders" {
			page = "access"
			key = strings.TrimSuffix(strings.SplitN(v.get("access").text, `name="key" value="`, 2)[1][:64], "")
			key, _, _ = strings.Cut(key, `"`)
		}
		v.get(page).wantPage(http.StatusOK).wantNo("token-text")
		first := text(v.post("token", "key", key))
		if _, err := s.Worker.Tokens().Check(t.Context(), first); err != nil {
			t.Errorf("%s: the token is refused: %v", key, err)
		}
		v.get("reset?key="+key).wantPage(http.StatusOK, "invalid on all workers")
		if _, err := s.Worker.Tokens().Check(t.Context(), first); err != nil {
			t.Errorf("%s: the question has reset the token: %v", key, err)
		}
		second := text(v.post("reset", "key", key).wantPage(http.StatusOK, "The token was reset"))
		if _, err := s.Worker.Tokens().Check(t.Context(), first); err == nil {
			t.Errorf("%s: the old token is accepted", key)
		}
		if identity, err := s.Worker.Tokens().Check(t.Context(), second); err != nil || identity.Admin {
			t.Errorf("%s: the new token: %+v, %v", key, identity, err)
		}
		v.get(page).wantNo(second)
	}
	v.get("reset?key=none").wantPage(http.StatusNotFound)
	v.post("reset", "key", "none").wantPage(http.StatusNotFound)
	v.post("token", "key", "none").wantPage(http.StatusNotFound)
}
