// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

const adminToken = "an admin token for tests alone"

// service is a worker with a console.
type service struct {
	testing.TB
	*worker.Worker
	console *Console
	store   store.Store
}

func start(t testing.TB, o Options) service {
	t.Helper()
	return startOn(t, storetest.Memory(t), o)
}

func startOn(t testing.TB, s store.Store, o Options) service {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if o.Logger == nil {
		o.Logger = log
	}
	v := service{TB: t, store: s}
	w, err := worker.New(s, worker.Options{
		AdminToken: adminToken, Validity: 100 * time.Millisecond, Logger: log, Now: o.Now,
	}, worker.Hooks{Console: func(w *worker.Worker) (_ http.Handler, err error) {
		v.console, err = New(w, s, o)
		return v.console, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	v.Worker = w
	return v
}

// saveConfig stores a configuration.
func (s service) saveConfig(t idconfig.Type, body string) {
	s.Helper()
	r, err := idconfig.Parse(t, []byte(body), time.Now())
	if err == nil {
		err = s.SaveConfig(s.Context(), r)
	}
	if err != nil {
		s.Fatal(err)
	}
}

// visitor is a browser without script.
type visitor struct {
	service
	cookie string
}

// login returns a visitor with a session.
func (s service) login() *visitor {
	s.Helper()
	v := &visitor{service: s}
	if p := v.post("login", "token", adminToken); p.status != http.StatusSeeOther || v.cookie == "" {
		s.Fatalf("login: %d %s", p.status, p.text)
	}
	return v
}

// shownPage is the answer with a page.
type shownPage struct {
	testing.TB
	status int
	header http.Header
	text   string
}

func (v *visitor) get(page string) shownPage {
	v.Helper()
	return v.sendRequest(httptest.NewRequest(http.MethodGet, "/admin/"+page, nil))
}

// post sends a form as the console's own pages do. Fields are alternating names and values.
func (v *visitor) post(page string, fields ...string) shownPage {
	v.Helper()
	values := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		values.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, "/admin/"+page, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return v.sendRequest(r)
}

func (v *visitor) sendRequest(r *http.Request) shownPage {
	v.Helper()
	if v.cookie != "" {
		r.Header.Set("Cookie", cookieName+"="+v.cookie)
	}
	rec := httptest.NewRecorder()
	v.ServeHTTP(rec, r)
	for _, c := range rec.Result().Cookies() {
		v.cookie = c.Value
	}
	return shownPage{v.TB, rec.Code, rec.Header(), rec.Body.String()}
}

// wantPage fails the test unless the page has the status and the texts.
func (p shownPage) wantPage(status int, texts ...string) shownPage {
	p.Helper()
	if p.status != status {
		p.Errorf("status %d, want %d: %s", p.status, status, p.text)
	}
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			p.Errorf("the page lacks %q: %s", text, p.text)
		}
	}
	return p
}

// wantNo fails the test if the page has a text.
func (p shownPage) wantNo(texts ...string) {
	p.Helper()
	for _, text := range texts {
		if strings.Contains(p.text, text) {
			p.Errorf("the page has %q: %s", text, p.text)
		}
	}
}

// wantTo fails the test unless the page leads to another one.
func (p shownPage) wantTo(location string) {
	p.Helper()
	if p.status != http.StatusSeeOther || p.header.Get("Location") != location {
		p.Errorf("%d to %q, want 303 to %q: %s", p.status, p.header.Get("Location"), location, p.text)
	}
}

var tagOf = regexp.MustCompile(`<(?:input|select)[^>]*>`)

// inputTag returns the tag of an input of the page.
func (p shownPage) inputTag(name string) string {
	p.Helper()
	for _, tag := range tagOf.FindAllString(p.text, -1) {
		if strings.Contains(tag, fmt.Sprintf(`name="%s"`, name)) {
			return tag
		}
	}
	p.Fatalf("there is no input %q: %s", name, p.text)
	return ""
}

// formatted are the fields of a form with three parts.
func formatted(key string) []string {
	return []string{
		"type", "formatted", "key", key, "version", "", "action", "save",
		"parts[0].type", "fixed-chars", "parts[0].value", "A-",
		"parts[1].type", "date-format", "parts[1].format", "yyyy",
		"parts[2].type", "auto-increment", "parts[2].length", "4", "parts[2].reset_scope", "year",
	}
}
