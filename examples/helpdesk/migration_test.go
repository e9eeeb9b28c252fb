// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	before "github.com/kazahana-db/kazahana/examples/helpdesk/first/records"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func directoriesOf(s *testService) *tenants.Set { return tenants.Of(s.db, "tenants") }

// TestMigration begins with tickets of the tutorial's first program, which has neither priorities nor
// their index. The index is built while both programs write. At the end the queue has every open
// ticket, also those that the first program has created since.
func TestMigration(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	acme := s.addTenant(t, "acme")
	old := before.TicketStoreOf(s.db, directoryOf(t, s, "acme"))
	if err := createOld(t.Context(), old, "before", 20); err != nil {
		t.Fatal(err)
	}
	queue := acme.send("GET", "/v1/queue", "").want(http.StatusServiceUnavailable)
	if queue.header.Get("Retry-After") == "" || strings.Contains(queue.body, "Queue") {
		t.Errorf("the queue before the build: %v %s", queue.header, queue.body)
	}
	first := make(chan error, 1)
	go func() { first <- createOld(t.Context(), old, "meanwhile", 20) }()
	for i := range 20 {
		acme.send("POST", "/v1/tickets", fmt.Sprintf(`{"subject":"new %d","requester":"ada@example.com","priority":"urgent"}`, i)).want(http.StatusCreated)
		if i == 5 {
			if err := s.registry.BuildIndexes(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	checkQueue(t, acme)
	if _, faults, err := s.registry.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("verification: %v %v", faults, err)
	}
}

// directoryOf returns the directory of a tenant.
func directoryOf(t *testing.T, s *testService, name string) string {
	t.Helper()
	dir, err := s.registry.Directory(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func createOld(ctx context.Context, old *before.TicketStore, subject string, n int) error {
	for i := range n {
		literal := before.Ticket{Subject: fmt.Sprintf("%s %d", subject, i), Requester: "ada@example.com", CreatedAt: time.Now()}
		if err := old.Create(ctx, old.New(literal)); err != nil {
			return err
		}
	}
	return nil
}

// checkQueue checks that the queue begins with the 20 urgent tickets, and has all 60.
func checkQueue(t *testing.T, acme *caller) {
	t.Helper()
	var subjects []string
	for token, more := "", true; more; more = token != "" {
		var page []string
		page, token = acme.send("GET", "/v1/queue?limit=7&page="+token, "").subjects()
		subjects = append(subjects, page...)
	}
	if len(subjects) != 60 {
		t.Fatalf("the queue has %d tickets, want 60: %q", len(subjects), subjects)
	}
	for i, subject := range subjects {
		if strings.HasPrefix(subject, "new") != (i < 20) {
			t.Errorf("ticket %d of the queue is %q", i, subject)
		}
	}
}

// A program of before still works after the migration, and keeps what it does not know.
func TestOldProgramAfterMigration(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	acme := s.addTenant(t, "acme")
	ticket := acme.send("POST", "/v1/tickets", `{"subject":"Fire","requester":"ada@example.com","priority":"urgent"}`).want(http.StatusCreated)
	old := before.TicketStoreOf(s.db, directoryOf(t, s, "acme"))
	stored, err := old.ByRequester("ada@example.com").First(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Update(t.Context(), stored.ID, func(t *before.Ticket) error { t.Subject = "Fire!"; return nil }); err != nil {
		t.Fatal(err)
	}
	now := acme.send("GET", ticket.header.Get("Location"), "").want(http.StatusOK)
	if now.text("priority") != "urgent" || now.text("subject") != "Fire!" {
		t.Errorf("the older program left %s", now.body)
	}
}
