// SPDX-License-Identifier: Apache-2.0

// Load tests a running help desk: it adds tenants, lets them work, and compares what the
// service has acknowledged with what it has. It ends with 1 if it finds a fault.
//
//	go run ./examples/helpdesk/cmd/load -tenants 1000 -tickets 20
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/kazahana-db/kazahana/examples/helpdesk/load"
)

func main() {
	o := load.Options{Token: os.Getenv("HELPDESK_ADMIN_TOKEN")}
	flag.StringVar(&o.API, "api", "http://localhost:8080", "the service's address for tenants")
	flag.StringVar(&o.Admin, "admin", "http://localhost:8081", "the service's address for operators; HELPDESK_ADMIN_TOKEN has the token")
	flag.IntVar(&o.Tenants, "tenants", 1000, "number of tenants, which are added")
	flag.IntVar(&o.Tickets, "tickets", 3, "number of tickets that each creates")
	flag.IntVar(&o.Workers, "workers", 32, "number of tenants that work at the same time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report, err := load.Run(ctx, o)
	fmt.Print(report)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}
