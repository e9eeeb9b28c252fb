// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

func (s *testService) catchUp(t *testing.T) {
	t.Helper()
	if err := desk.NewFollowers(s.registry, s.log).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestIsolation checks that a tenant sees, finds, counts and changes nothing of another one,
// though both use the same refs and words, and one knows the other's IDs.
func TestIsolation(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	acme, globex := s.addTenant(t, "acme"), s.addTenant(t, "globex")
	mine := acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	theirs := globex.send("POST", "/v1/tickets", strings.Replace(printer, "fire", "water", 1)).want(http.StatusCreated)
	s.catchUp(t)
	path, etag := mine.header.Get("Location"), "If-Match: "+mine.header.Get("ETag")
	globex.send("GET", path, "").want(http.StatusNotFound)
	globex.send("PATCH", path, `{"status":"closed"}`, etag).want(http.StatusNotFound)
	globex.send("POST", path+"/comments", `{"author":"eve","text":"Hello."}`).want(http.StatusNotFound)
	globex.send("GET", path+"/comments", "").want(http.StatusNotFound)
	globex.send("POST", "/v1/notices/"+mine.text("id")+"/deliveries", `{"status":"open"}`).want(http.StatusNotFound)
	for _, list := range []string{"/v1/tickets", "/v1/queue", "/v1/search?q=printer", "/v1/notices"} {
		got, _ := globex.send("GET", list, "").subjects()
		checkSubjects(t, list, got, theirs.text("subject"))
	}
	acme.send("POST", "/v1/tickets", `{"subject":"Another","requester":"ada@example.com"}`).want(http.StatusCreated)
	_, next := acme.send("GET", "/v1/tickets?limit=1", "").subjects()
	if next == "" {
		t.Fatal("the first of two pages has no token")
	}
	globex.send("GET", "/v1/tickets?limit=1&page="+next, "").want(http.StatusBadRequest) // a token of another tenant
	if got := acme.send("GET", path, "").body; got != mine.body {
		t.Errorf("the other tenant changed the ticket to %s", got)
	}
}

// TestKeys checks that keys are needed, replaced, and void after a removal, which leaves nothing
// for a later tenant of the same name.
func TestKeys(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	acme, operator := s.addTenant(t, "acme"), s.operator(t)
	if got := (&caller{t, s.api, "wrong"}).send("GET", "/v1/tickets", "").want(http.StatusUnauthorized).header.Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate: %q", got)
	}
	(&caller{t, s.admin, acme.token}).send("GET", "/tenants", "").want(http.StatusUnauthorized)
	operator.send("POST", "/tenants", `{"name":"acme"}`).want(http.StatusConflict)
	operator.send("POST", "/tenants", `{"name":"ACME"}`).want(http.StatusUnprocessableEntity)
	acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)

	second := &caller{t, s.api, operator.send("POST", "/tenants/acme/key", "").want(http.StatusOK).text("key")}
	acme.send("GET", "/v1/tickets", "").want(http.StatusUnauthorized)
	second.send("GET", "/v1/tickets", "").want(http.StatusOK)

	operator.send("DELETE", "/tenants/acme", "").want(http.StatusNoContent)
	operator.send("DELETE", "/tenants/acme", "").want(http.StatusNotFound)
	second.send("POST", "/v1/tickets", printer).want(http.StatusUnauthorized)
	got, _ := s.addTenant(t, "acme").send("GET", "/v1/tickets", "").subjects()
	checkSubjects(t, "a new tenant of that name", got)
	if got := operator.send("GET", "/tenants", "").body; got != `["acme"]`+"\n" {
		t.Errorf("tenants: %s", got)
	}
}

// A request that was under way when its tenant was removed must not bring the tenant back, nor
// must the followers, which notice a removal up to ten seconds later.
func TestRemovedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toEpoch()
		s := newTestService(t, enginetest.InProcess(t))
		key, err := s.registry.Add(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		go desk.NewFollowers(s.registry, s.log).Run(t.Context())
		synctest.Wait() // until the follower waits for the first ticket
		d, err := s.registry.Authenticate(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for _, subject := range []string{"Printer", "Paper"} {
			if _, err := d.Create(t.Context(), ticketOf(subject)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			checkDirectories(t, s, 1)
		}
		if page, err := d.Notices(t.Context(), 10, ""); err != nil || len(page.Records) != 2 {
			t.Errorf("%d notices of two tickets (%v)", len(page.Records), err)
		}
		if err := s.registry.Remove(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Create(t.Context(), ticketOf("Too late")); !isBadKey(err) {
			t.Errorf("a ticket of a removed tenant: %v", err)
		}
		for range 3 {
			synctest.Wait() // until the follower has seen that its tickets are gone
			checkDirectories(t, s, 0)
			time.Sleep(40 * time.Second)
		}
	})
}

// toEpoch advances the clock of a bubble, which begins in 2000, past the epoch of IDs.
func toEpoch() { time.Sleep(time.Until(time.UnixMilli(idgen.DefaultCustomEpoch).Add(time.Hour))) }

// checkDirectories checks how many tenants have a directory.
func checkDirectories(t *testing.T, s *service, want int) {
	t.Helper()
	names, err := s.db.ListDirectory(t.Context(), "tenants")
	if err != nil && !errors.Is(err, persistable.ErrNotFound) || len(names) != want {
		t.Errorf("directories of tenants: %q (%v), want %d", names, err, want)
	}
}

// TestMetrics reads what Prometheus would.
func TestMetrics(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	s.addTenant(t, "acme").send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	got := s.operator(t).send("GET", "/metrics", "").want(http.StatusOK).body
	for _, want := range []string{
		`db_client_operation_duration_seconds_count{db_collection_name="Ticket",db_operation_name="Create"} 1`,
		`db_client_operation_duration_seconds_count{db_operation_name="Transact"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	s.operator(t).send("GET", "/healthz", "").want(http.StatusOK)
}
