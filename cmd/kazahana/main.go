// SPDX-License-Identifier: Apache-2.0

// Command kazahana shows and changes what is in databases, makes and reads kazahana IDs,
// serves the leases under which they are unique, and shows where virtual actors are.
//
//	kazahana verify --db data             # read all of an embedded database, and check it
//	kazahana placement show account/alice --cluster-file fdb.cluster # why is this actor here?
//	kazahana id new -n 3                  # make IDs
//	kazahana id inspect 211469771380744768
//	kazahana id encode 211469771380744768 # for the outside; decode reads it back
//	kazahana completion bash              # completion; zsh, fish and powershell have it, too
//
// Every command takes --json. kazahana --help lists the exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
