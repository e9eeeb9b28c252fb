// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/directory"
)

// makeFolders makes empty directories in a database: folders data a b/c.
func makeFolders(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: folders folder path...")
	}
	db := openDatabase(ts, args[0])
	var err error
	for _, path := range args[1:] {
		_, failed := directory.Root().CreateOrOpen(context.Background(), db, strings.Split(path, "/"))
		err = errors.Join(err, failed)
	}
	ts.Check(errors.Join(err, db.Close()))
}
