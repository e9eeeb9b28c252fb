// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/examples/helpdesk/desk"
	"github.com/kazahana-db/kazahana/examples/helpdesk/load"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

var (
	loadTenants = flag.Int("load.tenants", 1000, "tenants of TestLoad")
	loadTickets = flag.Int("load.tickets", 1, "tickets that each of them creates")
	loadWorkers = flag.Int("load.workers", 32, "tenants that work at the same time")
)

// TestLoad lets 1,000 tenants work on a database on the disk, while the service does its work in the
// background; with -short it is 100. At the end each tenant has exactly the tickets that the service has acknowledged,
// each ticket has its notice, and all indexes are verified. With more tickets it is a load test:
//
//	go test ./examples/helpdesk -run TestLoad -v -load.tickets 20
func TestLoad(t *testing.T) {
	if testing.Short() {
		*loadTenants = min(*loadTenants, 100)
	}
	engine, err := embedded.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() }) // after the service
	s := openService(t, engine)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var background sync.WaitGroup
	background.Go(func() { s.work(ctx) })

	report, err := load.Run(t.Context(), load.Options{
		API: s.api, Admin: s.admin, Token: adminToken, Tenants: *loadTenants, Tickets: *loadTickets, Workers: *loadWorkers,
	})
	t.Logf("%v", report)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	background.Wait()
	checkLoad(t, s, report)
}

// TestLoadWithoutService checks that the report of a failed run claims nothing about tickets.
func TestLoadWithoutService(t *testing.T) {
	stopped := httptest.NewServer(http.NotFoundHandler())
	stopped.Close()
	report, err := load.Run(t.Context(), load.Options{API: stopped.URL, Admin: stopped.URL, Token: adminToken, Tenants: 1, Tickets: 1, Workers: 1})
	if err == nil || strings.Contains(report.String(), "exactly its tickets") {
		t.Errorf("error %v, and the report says:\n%v", err, report)
	}
}

// checkLoad checks that the followers have written one notice for each ticket.
func checkLoad(t *testing.T, s *testService, report load.Report) {
	t.Helper()
	if err := desk.NewFollowers(s.registry, s.log).CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	tenants, tickets := int64(*loadTenants), int64(*loadTenants**loadTickets)
	n, faults, err := s.registry.Verify(t.Context())
	if err != nil || len(faults) > 0 {
		t.Fatalf("verification: %v %v", faults, err)
	}
	comments := int64(*loadTenants * ((*loadTickets + 2) / 4)) // one for each fourth ticket, from the second on
	if want := tenants + 2*tickets + comments; int64(n) != want || report.Tickets != int(tickets) {
		t.Errorf("%d records, %d tickets; want %d: tenants, tickets, a notice for each, and comments", n, report.Tickets, want)
	}
}
