// SPDX-License-Identifier: Apache-2.0

// Command idbuilder gives IDs to programs in any language, over HTTP.
//
//	idbuilder                             # serve, from the folder ./idbuilder-data
//	idbuilder config set increment orders base=1000
//	idbuilder id increment orders -n 3
//	idbuilder settings                    # list all settings
//
// Every command takes --json. idbuilder --help lists the exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kazahana-db/kazahana/internal/idbuilderd"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := idbuilderd.Run(ctx, os.Args[1:], shell.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
