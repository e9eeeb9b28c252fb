// SPDX-License-Identifier: Apache-2.0

//go:build !foundationdb

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/clitest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
)

// onCluster tells whether the database of a script is a cluster.
const onCluster = false

// createDatabase returns the empty database of a folder. From now on the commands of the script use it.
func createDatabase(ts *testscript.TestScript, folder string) kv.Database {
	ts.Setenv("KAZAHANA_DB", folder)
	return openDatabase(ts, folder)
}

// wholeCluster returns "": there is no cluster.
func wholeCluster(testing.TB) string { return "" }

// openDatabase opens the database that createDatabase made.
func openDatabase(ts *testscript.TestScript, folder string) kv.Database {
	db, err := embedded.Open(ts.MkAbs(folder))
	ts.Check(err)
	return db
}

// killDatabase leaves the folder as a process that is killed leaves it: with the commits in the log.
func killDatabase(ts *testscript.TestScript, db kv.Database, folder string) {
	ts.Check(clitest.Kill(db, ts.MkAbs(folder)))
}
