// SPDX-License-Identifier: Apache-2.0

// First is the program of the tutorial's first page: it saves a ticket of one tenant
// and lists the open ones. Run it twice.
//
//	go run ./examples/helpdesk/first
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/first/records"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

func main() {
	if err := run(context.Background(), os.Stdout, "data"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, dir string) error {
	engine, err := embedded.Open(dir) // makes the folder at the first start
	if err != nil {
		return err
	}
	defer engine.Close()
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return err
	}
	defer db.Close()

	tickets := records.TicketStoreOf(db, "acme") // the tickets of the tenant acme
	t := tickets.New(records.Ticket{Subject: "The printer is on fire", Requester: "ada@example.com", CreatedAt: time.Now()})
	if err := tickets.Create(ctx, t); err != nil {
		return err
	}
	fmt.Fprintf(out, "saved ticket %s\n", t.ID)

	for t, err := range tickets.ByStatusCreatedAt(records.Open).All(ctx) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "open: %s by %s\n", t.Subject, t.Requester)
	}
	return nil
}
