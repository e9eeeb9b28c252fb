// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
)

// TestExport moves a tenant to another database.
func TestExport(t *testing.T) {
	from, to := openService(t, enginetest.Open(t)), openService(t, enginetest.Open(t))
	acme := from.addTenant(t, "acme")
	ticket := acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	stream := from.operator(t).send("GET", "/tenants/acme/export", "").want(http.StatusOK).body
	acme.send("POST", ticket.header.Get("Location")+"/comments", `{"author":"ada","text":"Not locked any more."}`).want(http.StatusCreated)

	operator := to.operator(t)
	operator.send("POST", "/tenants/acme/import", stream[:len(stream)-1]).want(http.StatusUnprocessableEntity)
	moved := &caller{t, to.api, operator.send("POST", "/tenants/acme/import", stream).want(http.StatusCreated).text("key")}
	got, _ := moved.send("GET", "/v1/search?q=printer", "").subjects()
	checkSubjects(t, "the imported tenant", got, "The printer is on fire")
	if verified := operator.send("POST", "/verifications", "").want(http.StatusOK).body; verified != `{"records":2,"faults":[]}`+"\n" {
		t.Errorf("verification: %s", verified)
	}
	operator.send("POST", "/tenants/acme/import", stream).want(http.StatusConflict) // the name is taken
	if left, err := to.db.ListDirectory(t.Context(), "tenants"); err != nil || len(left) != 1 {
		t.Errorf("directories of tenants: %q (%v), want one", left, err)
	}
	operator.send("GET", "/tenants/globex/export", "").want(http.StatusNotFound)
}

// While a tenant is locked its writes are answered with 503, and a time to try again after.
func TestLockedTenant(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	acme := s.addTenant(t, "acme")
	acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	names, err := s.db.ListDirectory(t.Context(), "tenants")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := directoriesOf(s).Lock(t.Context(), names[0], "test")
	if err != nil {
		t.Fatal(err)
	}
	const other = `{"subject":"Another","requester":"ada@example.com"}`
	if got := acme.send("POST", "/v1/tickets", other).want(http.StatusServiceUnavailable).header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After: %q", got)
	}
	acme.send("GET", "/v1/tickets", "").want(http.StatusOK)
	if err := directoriesOf(s).Unlock(t.Context(), lock); err != nil {
		t.Fatal(err)
	}
	acme.send("POST", "/v1/tickets", other).want(http.StatusCreated)
}
