// SPDX-License-Identifier: Apache-2.0

// Actors moves money between accounts that are virtual actors of three processes, over one
// database. While the money moves, it kills a process, suspends another until the others have
// taken over its accounts, and ends the third in order. Then it audits the accounts: no money is
// lost or made, each transfer was done once, and each account had one owner at a time. If that is
// not so, the exit code is 1.
//
//	go run ./examples/actors [-accounts 1000] [-duration 20s] [-data DIR]
//	go run -tags foundationdb ./examples/actors --cluster-file FILE
//
// On a cluster each process opens the cluster. Without one, the program opens the
// embedded engine, which only one process can open, and serves it to the others:
// see package remote.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if isBank() {
		exitOn(newBank().serveAccounts(ctx, os.Stdin, os.Stdout))
		return
	}
	data := flag.String("data", filepath.Join("data", "actors"), "folder of the database")
	cluster := flag.String("cluster-file", "", "cluster file of a FoundationDB cluster, which is used instead of a folder")
	var o options
	flag.IntVar(&o.accounts, "accounts", 1000, "how many accounts there are")
	flag.IntVar(&o.tellers, "tellers", 16, "how many transfers are under way at once")
	flag.DurationVar(&o.lease, "lease", 2*time.Second, "how long the others wait for a process that is not heard of")
	flag.DurationVar(&o.duration, "duration", 20*time.Second, "about how long to move money")
	flag.Parse()
	exitOn(start(ctx, os.Stdout, *data, *cluster, o))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "actors:", err)
		os.Exit(1)
	}
}

// start runs the program on the cluster, if there is one, or on the folder.
func start(ctx context.Context, out io.Writer, dir, clusterFile string, o options) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	if clusterFile != "" {
		engine, err := fdbkv.Open(clusterFile)
		if err != nil {
			return err
		}
		return errors.Join(run(ctx, out, engine, place{clusterVariable, clusterFile}, o), engine.Close())
	}
	engine, err := embedded.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(serveAndRun(ctx, out, engine, o), engine.Close())
}

// serveAndRun serves the engine to the banks.
func serveAndRun(ctx context.Context, out io.Writer, engine kv.Database, o options) error {
	return serve(ctx, engine, func(p place) error { return run(ctx, out, engine, p, o) })
}
