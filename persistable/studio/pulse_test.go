// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/browsertest"
	"github.com/kazahana-db/kazahana/internal/cluster/clustertest"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// request is a request that the page makes of the database.
type request struct{ method, path, body string }

const (
	atIndex  = `{"path":["tenants","tenant-1","orders"],"type":"Order","index":"Order_Status"}`
	atRecord = `{"path":["tenants","tenant-1","orders"],"type":"Order","id":"` + firstOrder + `","etag":"x","record":"{}"}`
	atTenant = `{"path":["tenants","tenant-1"],"reason":"a test","lock":"x","prefix":"x"}`
)

// requests returns all requests that need the database.
func requests() []request {
	get := func(path string) request { return request{http.MethodGet, "/api/" + path, ""} }
	post := func(path, body string) request { return request{http.MethodPost, "/api/" + path, body} }
	store := "?" + orders("id", firstOrder).Encode()
	return []request{
		get("state"), get("directories"), get("directories?p=tenants"), get("directory?p=tenants"), get("sizes"), get("sets"), get("tenants?p=tenants"),
		get("tenant?p=tenants&p=tenant-1"), get("types"), get("schema" + store), get("history" + store), get("records" + store), get("record" + store),
		get("indexes" + store), get("leases"), get("changes" + store),
		post("indexes/verify", atIndex), post("record/save", atRecord), post("record/delete", atRecord), post("indexes/build", atIndex), post("indexes/repair", atIndex),
		post("indexes/drop", atIndex), post("tenant/lock", atTenant), post("tenant/unlock", atTenant), post("tenant/remove", atTenant),
	}
}

// silentSite is a handler over a database that can fall silent. It is used without a server, in virtual time.
type silentSite struct {
	*testing.T
	engine *enginetest.Silent
	pages  *Handler
	routes http.Handler
}

func startSilent(t *testing.T) *silentSite {
	t.Helper()
	engine := &enginetest.Silent{Database: openMemory(t)}
	must(t, bazaar.Seed(t.Context(), engine))
	pages, err := New(openPlain(t, engine), Options{Token: token, Write: true, Database: "the cluster of a.cluster", Remedy: "Look at it."})
	must(t, err)
	t.Cleanup(pages.Close)
	return &silentSite{t, engine, pages, pages.routes()}
}

// ask makes a request, and returns the status, what was answered, and how long that took.
func (s *silentSite) ask(q request) (status int, f failure, took time.Duration) {
	s.Helper()
	begun, answer := time.Now(), httptest.NewRecorder()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute) // a stream that is served does not end by itself
	defer cancel()
	s.routes.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, q.method, q.path, strings.NewReader(q.body)))
	_ = json.Unmarshal(answer.Body.Bytes(), &f) // another answer leaves it empty
	return answer.Code, f, time.Since(begun)
}

// TestOutage: while the database does not answer, every request is answered within a few seconds, and says since when it
// is silent and what to do. When the database answers again, so does each request.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSilent(t)
		for _, q := range requests() {
			s.engine.SetDown(true)
			status, f, took := s.ask(q)
			if status != http.StatusServiceUnavailable || !f.Outage || took > askAfter+silentAfter {
				t.Errorf("%s %s: %d %+v after %v", q.method, q.path, status, f, took)
			}
			for _, part := range []string{"the cluster of a.cluster has not answered for 3s, since ", ". Look at it."} {
				if !strings.Contains(f.Error, part) {
					t.Errorf("%s %s: the answer %q is without %q", q.method, q.path, f.Error, part)
				}
			}
			if strings.Contains(f.Error, "context") || strings.Contains(f.Error, "deadline") {
				t.Errorf("%s %s: the answer speaks of contexts: %q", q.method, q.path, f.Error)
			}
			s.engine.SetDown(false)
			time.Sleep(silentAfter + 1) // the read that is under way is not answered
			if status, f, _ := s.ask(q); f.Outage {
				t.Errorf("after the outage %s %s: %d %+v", q.method, q.path, status, f)
			}
		}
		s.engine.SetDown(true)
		for _, path := range []string{"info", "decode?id=" + firstOrder, "metrics", "jobs"} {
			if status, f, took := s.ask(request{http.MethodGet, "/api/" + path, ""}); status != http.StatusOK || took > 0 {
				t.Errorf("%s needs no database, and answers %d %+v after %v", path, status, f, took)
			}
		}
		s.engine.SetDown(false)
	})
}

// TestLongOutage: once the database is known to be silent, requests are refused at once, with the time since when it
// is; and nothing is left when it answers, or when the handler is closed.
func TestLongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSilent(t)
		s.engine.SetDown(true)
		_, first, _ := s.ask(requests()[0])
		_, since, _ := strings.Cut(first.Error, "since ")
		time.Sleep(time.Hour)
		for _, q := range requests() {
			status, f, took := s.ask(q)
			if status != http.StatusServiceUnavailable || took > 0 || !strings.HasSuffix(f.Error, "for 1h0m3s, since "+since) {
				t.Errorf("%s %s: %d %q after %v, the first was %q", q.method, q.path, status, f.Error, took, first.Error)
			}
		}
		s.pages.Close() // in the bubble, a read that goes on would be a deadlock
		s.engine.SetDown(false)
	})
}

// TestLongRequest: a request that takes long is not given up while the database answers.
func TestLongRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSilent(t)
		err := s.pages.pulse.during(t.Context(), func(ctx context.Context) error {
			time.Sleep(time.Hour)
			return context.Cause(ctx)
		})
		if err != nil {
			t.Errorf("after an hour: %v", err)
		}
	})
}

// TestCloseDuringARequest: the handler may be closed while a request asks whether the database answers. The race
// detector sees what goes wrong then.
func TestCloseDuringARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSilent(t)
		time.AfterFunc(askAfter, s.pages.Close)
		err := s.pages.pulse.during(t.Context(), func(context.Context) error {
			time.Sleep(2 * askAfter)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestUnknownOutcomeOfAnOutage: the answer to a request that was committing when the database fell silent says that it is
// not known whether the change was made.
func TestUnknownOutcomeOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSilent(t)
		s.engine.SetDown(true)
		for _, unknown := range []bool{false, true} {
			err := s.pages.pulse.during(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				if unknown {
					return fmt.Errorf("a commit: %w: %w", kv.ErrOutcomeUnknown, context.Cause(ctx))
				}
				return context.Cause(ctx)
			})
			if f := newFailure(err); !f.Outage || f.Unknown != unknown || strings.Contains(f.Error, "not known whether the change was made") != unknown {
				t.Errorf("unknown is %v, and the answer %+v", unknown, f)
			}
			s.engine.SetDown(false)
			time.Sleep(silentAfter + 1)
			s.engine.SetDown(true)
		}
		s.engine.SetDown(false)
	})
}

// TestOutageOfAStream: a stream of changes ends with the reason when the database falls silent.
func TestOutageOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startSilent(t)
		sent, ended := &recorder{ResponseRecorder: httptest.NewRecorder()}, make(chan struct{})
		go func() {
			defer close(ended)
			s.routes.ServeHTTP(sent, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/changes?"+orders().Encode(), nil))
		}()
		synctest.Wait()
		length := len(sent.text())
		s.engine.SetDown(true)
		begun := time.Now()
		<-ended
		text, took := sent.text()[length:], time.Since(begun)
		if !strings.Contains(text, "event: failed\n") || !strings.Contains(text, `"outage":true`) || took > idleEvery+askAfter+silentAfter {
			t.Errorf("after %v came %q", took, text)
		}
		s.engine.SetDown(false)
	})
}

// TestHealthDuringAnOutage: what the client knows of a cluster is shown while the cluster does not answer. A client that
// does not tell its status in time is not waited for.
func TestHealthDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &enginetest.Silent{Database: openMemory(t)}
		told, untold := openPlain(t, clustertest.Pretend(engine, clustertest.Unavailable)), openPlain(t, engine)
		engine.SetDown(true)
		for name, h := range map[string]*Handler{"a client with a status": {db: told}, "a client without one": {db: untold}} {
			begun := time.Now()
			value, err := h.health(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			of, took := value.(health), time.Since(begun)
			known := name == "a client with a status"
			if err != nil || took > statusWithin || known != (of.Health != nil && len(of.Faults) > 0) || known != (of.Unknown == "") || strings.Contains(of.Unknown, "context") {
				t.Errorf("%s: %+v, %v after %v", name, of, err, took)
			}
		}
		engine.SetDown(false)
	})
}

// TestBrowserOutage: a view says that the database does not answer, with what the client knows of the cluster, and shows
// its contents by itself when it answers again.
func TestBrowserOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	engine := &enginetest.Silent{Database: openMemory(t)}
	s := startOn(t, clustertest.Pretend(engine, clustertest.Unavailable), Options{Remedy: "Run fdbcli."})
	v := &visit{browsertest.Open(t, s.URL+"/"), s}
	v.OpenPage(s.pages.Link(""))
	v.WantSoon("h1", "Overview")
	engine.SetDown(true)
	for _, address := range []string{
		"directories", "tenants?p=tenants", "types", "sizes", "leases", "records?" + ordersPath, "record?id=" + firstOrder + "&" + ordersPath,
		"indexes?" + ordersPath, "schema?" + ordersPath, "changes?" + ordersPath, "",
	} {
		v.OpenPage(address)
		v.WantSoon("[role=alert]", "The database does not answer")
		v.WantText("[role=alert]", "Run fdbcli.")
		v.WantSoon(".health", "Unable to reach a quorum of coordinators")
	}
	v.CheckPage("outage")
	engine.SetDown(false)
	v.WantSoon("h1", "Overview")
	v.openView("changes?"+ordersPath, "Order")
	v.WantSoon("#feed-state", "live")
	engine.SetDown(true)
	v.WantSoon("[role=alert]", "The database does not answer")
	engine.SetDown(false)
	v.WantSoon("#feed-state", "live")
	v.WantQuiet()
}
