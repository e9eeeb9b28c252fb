// SPDX-License-Identifier: Apache-2.0

// Shop runs two small shops, each a tenant of one database: it takes orders, counts them, writes
// a letter about every change of one, and lets the program's second version work together
// with the first. It explains each step. Run it twice: the second run goes on.
//
//	go run ./examples/shop [-data DIR]
//	go run -tags foundationdb ./examples/shop --cluster-file FILE
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/persistable"
)

func main() {
	data := flag.String("data", filepath.Join("data", "shop"), "folder of the database")
	cluster := flag.String("cluster-file", "", "cluster file of a FoundationDB cluster, which is used instead of a folder")
	flag.Parse()
	if err := start(context.Background(), os.Stdout, *data, *cluster); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, out io.Writer, dir, clusterFile string) error {
	engine, err := open(dir, clusterFile)
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, out, engine), engine.Close())
}

func open(dir, clusterFile string) (kv.Database, error) {
	if clusterFile != "" {
		return fdbkv.Open(clusterFile)
	}
	return embedded.Open(dir)
}

// run runs the tea shop with its mailer, after the book shop has had a customer, too.
func run(ctx context.Context, out io.Writer, engine kv.Database) (err error) {
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := openShop(db, "books", out).order(ctx, "bob@example.com", 2500); err != nil {
		return err
	}
	tea := openShop(db, "tea", out)
	ctx, stop := context.WithCancelCause(ctx)
	mailer := make(chan error, 1)
	go func() {
		failure := tea.writeLetters(ctx)
		stop(failure) // or the shop would wait for letters
		mailer <- failure
	}()
	err = tea.spendDay(ctx)
	stop(nil)
	if failure := <-mailer; !errors.Is(failure, context.Canceled) {
		err = errors.Join(err, failure)
	}
	return err
}
