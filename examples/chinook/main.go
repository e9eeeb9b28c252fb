// SPDX-License-Identifier: Apache-2.0

// Chinook loads a music store (artists, albums, tracks, customers, invoices) from
// the JSON file of the Chinook data set and answers ten questions about it through
// indexes. Each billing country is a tenant. You can kill it at any moment and run
// it again: it finds the stored records and loads the rest.
//
//	go run ./examples/chinook [-data DIR] path/to/chinook.json
//	go run -tags foundationdb ./examples/chinook --cluster-file FILE path/to/chinook.json
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/persistable"
)

func main() {
	var at place
	flag.StringVar(&at.folder, "data", filepath.Join("data", "chinook"), "folder of the database")
	flag.StringVar(&at.clusterFile, "cluster-file", "", "cluster file of a FoundationDB cluster, which is used instead of a folder")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: chinook [-data DIR | -cluster-file FILE] path/to/chinook.json")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := start(ctx, os.Stdout, at, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "chinook:", err)
		os.Exit(1)
	}
}

// place is where the database is.
type place struct{ folder, clusterFile string }

func (p place) open() (kv.Database, error) {
	if p.clusterFile != "" {
		return fdbkv.Open(p.clusterFile)
	}
	return embedded.Open(p.folder)
}

func (p place) String() string { return cmp.Or(p.clusterFile, p.folder) }

// start loads the file into the database at a place and prints the answers.
func start(ctx context.Context, out io.Writer, at place, file string) (err error) {
	data, err := readDataset(file)
	if err != nil {
		return err
	}
	engine, err := at.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return run(ctx, out, engine, at, data)
}

// run does start's work on an engine.
func run(ctx context.Context, out io.Writer, engine kv.Database, at place, data *dataset) (err error) {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	stored, err := loadAll(ctx, db, data, progressOn(out))
	if err != nil {
		return err
	}
	if stored == 0 {
		fmt.Fprintf(out, "All was loaded already, into %s.\n", at)
	} else {
		fmt.Fprintf(out, "Loaded %d records, and the lines of invoices with them, into %s.\n", stored, at)
	}
	return shop{db}.ask(ctx, out)
}
