// SPDX-License-Identifier: Apache-2.0

// Chinook loads a music store (artists, albums, tracks, customers, invoices)
// from the JSON file of the Chinook data set and answers ten questions about it
// through indexes. Each billing country is a tenant. It can be killed at any
// moment and run again: what is stored is found, the rest is loaded.
//
//	go run ./examples/chinook [-data DIR] path/to/chinook.json
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

	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

func main() {
	data := flag.String("data", filepath.Join("data", "chinook"), "folder of the database")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: chinook [-data DIR] path/to/chinook.json")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *data, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "chinook:", err)
		os.Exit(1)
	}
}

// run loads the file into the database in dir and prints the answers.
func run(ctx context.Context, out io.Writer, dir, file string) (err error) {
	data, err := readDataset(file)
	if err != nil {
		return err
	}
	engine, err := embedded.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
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
		fmt.Fprintf(out, "All was loaded already, into %s.\n", dir)
	} else {
		fmt.Fprintf(out, "Loaded %d records, and the lines of invoices with them, into %s.\n", stored, dir)
	}
	return shop{db}.ask(ctx, out)
}
