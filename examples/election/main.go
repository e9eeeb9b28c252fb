// SPDX-License-Identifier: Apache-2.0

// Election starts three processes that elect a leader on one database. It kills the
// leader, lets the next one resign, and suspends the third until another leads: the
// third's writes after it wakes up are refused.
//
//	go run ./examples/election [-data DIR]
//	go run -tags foundationdb ./examples/election --cluster-file FILE
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
	"net"
	"os"
	"path/filepath"

	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

func main() {
	if isWorker() {
		exitOn(work(context.Background(), os.Stdin, os.Stdout))
		return
	}
	data := flag.String("data", filepath.Join("data", "election"), "folder of the database")
	cluster := flag.String("cluster-file", "", "cluster file of a FoundationDB cluster, which is used instead of a folder")
	flag.Parse()
	exitOn(start(context.Background(), os.Stdout, *data, *cluster))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "election:", err)
		os.Exit(1)
	}
}

// start shows an election on the cluster, if there is one, or on the folder.
func start(ctx context.Context, out io.Writer, dir, clusterFile string) error {
	if clusterFile != "" {
		engine, err := fdbkv.Open(clusterFile)
		if err != nil {
			return err
		}
		return errors.Join(run(ctx, out, engine, clusterPlace(clusterFile)), engine.Close())
	}
	engine, err := embedded.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(serveAndRun(ctx, out, engine), engine.Close())
}

// serveAndRun serves the engine to the workers and shows an election.
func serveAndRun(ctx context.Context, out io.Writer, engine kv.Database) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- remote.Serve(serving, listener, engine) }()
	err = run(ctx, out, engine, remotePlace(listener.Addr().String()))
	stop()
	return errors.Join(err, <-served)
}

// run shows an election among workers that find the engine at a place.
func run(ctx context.Context, out io.Writer, engine kv.Database, p place) error {
	s := newShow(out, engine, p)
	defer s.end()
	return s.run(ctx)
}
