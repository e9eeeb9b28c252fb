// SPDX-License-Identifier: Apache-2.0

// Helpdesk is a service with many tenants: each has its tickets, its API key and a directory
// of its own in one database. docs/tutorial builds it step by step.
//
//	HELPDESK_ADMIN_TOKEN=$(openssl rand -hex 16) go run ./examples/helpdesk
//	go run -tags foundationdb ./examples/helpdesk -cluster-file FILE
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c, err := parseConfig(os.Args[1:], os.Getenv)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, c, log)
	}
	if err != nil {
		log.Error("helpdesk ends", "error", err)
		os.Exit(1)
	}
}
