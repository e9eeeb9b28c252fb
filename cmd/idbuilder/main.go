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
	"time"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/cli"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func main() {
	code := cli.Run(untilSignal(), os.Args[1:], shell.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	os.Exit(code)
}

// untilSignal returns a context that ends with the first signal. The second ends
// the program at once, as without a handler.
func untilSignal() context.Context {
	signals := make(chan os.Signal, 2) // none is missed
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		second := <-signals
		signal.Reset(second)
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(second) == nil {
			time.Sleep(time.Second) // the signal ends the program here
		}
		os.Exit(1)
	}()
	return ctx
}
