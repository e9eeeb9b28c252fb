// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// onCluster tells whether the database of a script is a cluster.
const onCluster = true

// createDatabase returns the cluster of FDB_CLUSTER_FILE, which must be empty, and is emptied when the
// script ends; until then other scripts wait for it. From now on the commands of the script use it,
// whatever the folder is.
func createDatabase(ts *testscript.TestScript, folder string) kv.Database {
	ts.Setenv("KAZAHANA_CLUSTER_FILE", wholeCluster(ts.Value(testKey{}).(testing.TB)))
	return openDatabase(ts, folder)
}

// wholeCluster returns the file of the cluster, which must be empty, and is unlocked and emptied when
// the test ends.
func wholeCluster(tb testing.TB) string {
	tb.Helper()
	open := enginetest.Whole(tb)
	tb.Cleanup(func() {
		if err := unlock(open(tb), false); err != nil {
			tb.Error(err)
		}
	})
	return os.Getenv("FDB_CLUSTER_FILE")
}

// openDatabase opens the cluster.
func openDatabase(ts *testscript.TestScript, _ string) kv.Database {
	db, err := fdbkv.Open(os.Getenv("FDB_CLUSTER_FILE"))
	ts.Check(err)
	return db
}

// killDatabase closes the client: the cluster has what was committed.
func killDatabase(ts *testscript.TestScript, db kv.Database, _ string) { ts.Check(db.Close()) }
