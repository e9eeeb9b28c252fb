// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
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

// TestStalledExport has the client of an export read nothing. After a minute the export ends,
// and the tenant can write again.
func TestStalledExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toEpoch()
		s := newTestService(t, enginetest.InProcess(t))
		key, err := s.registry.Add(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.registry.Authenticate(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		large := ticketOf("Large")
		large.Body = strings.Repeat("x", 20_000) // more than the server holds back
		if _, err := d.Create(t.Context(), large); err != nil {
			t.Fatal(err)
		}
		client := servePipe(t, s.admin)
		request := "GET /tenants/acme/export HTTP/1.1\r\nHost: helpdesk\r\nAuthorization: Bearer " + adminToken + "\r\n\r\n"
		if _, err := client.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if _, err := d.Create(t.Context(), ticketOf("Too early")); !errors.Is(err, persistable.ErrLocked) {
			t.Fatalf("a ticket during the export: %v", err)
		}
		time.Sleep(31 * time.Second)
		if _, err := d.Create(t.Context(), ticketOf("Later")); err != nil {
			t.Errorf("a ticket after a minute: %v", err)
		}
	})
}

// servePipe serves one connection without a network, and returns the client's side.
func servePipe(t *testing.T, h http.Handler) net.Conn {
	client, server := net.Pipe()
	l := &pipeListener{conns: make(chan net.Conn, 1)}
	l.conns <- server
	web := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go web.Serve(l)
	t.Cleanup(func() {
		client.Close()
		web.Close()
	})
	return client
}

// pipeListener accepts the connections that are sent to it.
type pipeListener struct {
	conns chan net.Conn
	close sync.Once
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
func (l *pipeListener) Close() error   { l.close.Do(func() { close(l.conns) }); return nil }
func (l *pipeListener) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// TestUnlock ends the lock of an export after its process was killed.
func TestUnlock(t *testing.T) {
	s := openService(t, enginetest.Open(t))
	acme, operator := s.addTenant(t, "acme"), s.operator(t)
	operator.send("DELETE", "/tenants/acme/lock", "").want(http.StatusNoContent) // it has no directory yet
	acme.send("POST", "/v1/tickets", printer).want(http.StatusCreated)
	names, err := s.db.ListDirectory(t.Context(), "tenants")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := directoriesOf(s).Lock(t.Context(), names[0], "is being exported"); err != nil {
		t.Fatal(err)
	}
	const other = `{"subject":"Another","requester":"ada@example.com"}`
	acme.send("POST", "/v1/tickets", other).want(http.StatusServiceUnavailable)
	operator.send("DELETE", "/tenants/acme/lock", "").want(http.StatusNoContent)
	acme.send("POST", "/v1/tickets", other).want(http.StatusCreated)
	operator.send("DELETE", "/tenants/acme/lock", "").want(http.StatusNoContent) // as after a lost answer
	operator.send("DELETE", "/tenants/globex/lock", "").want(http.StatusNotFound)
	(&caller{t, s.admin, "wrong"}).send("DELETE", "/tenants/acme/lock", "").want(http.StatusUnauthorized)
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
