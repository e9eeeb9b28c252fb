// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package enginetest

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// OpenCluster opens the cluster that FDB_CLUSTER_FILE names, until the test ends.
func OpenCluster(tb testing.TB, o fdbkv.Options) *fdbkv.Database {
	tb.Helper()
	file := os.Getenv("FDB_CLUSTER_FILE")
	if file == "" {
		tb.Fatal("built with -tags foundationdb, this test needs a FoundationDB cluster: set FDB_CLUSTER_FILE to its cluster file")
	}
	db, err := fdbkv.Open(file, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// Cluster tells whether Open gives databases on a cluster: there the system keys
// are shared with others.
const Cluster = true

// LongestKey is how many bytes a key of such a database may have.
const LongestKey = kv.MaxKeySize - len(testPrefix) - tagSize - len("/")

// Leaks are the goroutines that stay when everything is closed: the one of the
// client's network, which ends with the process.
func Leaks() []goleak.Option {
	return []goleak.Option{goleak.IgnoreAnyFunction("github.com/apple/foundationdb/bindings/go/src/fdb._Cfunc_fdb_run_network")}
}

// Open returns an empty database that lives until the test ends: the keys of the
// cluster below a prefix of the test's own.
func Open(tb testing.TB) kv.Database {
	tb.Helper()
	db, prefix := OpenOwn(tb, fdbkv.Options{})
	return Below(db, []byte(prefix))
}

// testPrefix is what the prefixes of all tests begin with; a random tag follows.
const (
	testPrefix = "kztest/"
	tagSize    = 10
)

// OpenOwn opens the cluster and returns a prefix of the test's own, below which
// there is nothing. What the test leaves there is cleared when it ends.
func OpenOwn(tb testing.TB, o fdbkv.Options) (*fdbkv.Database, string) {
	tb.Helper()
	prefix := testPrefix + rand.Text()[:tagSize] + "/"
	tb.Cleanup(func() { clearRange(tb, kv.PrefixRange([]byte(prefix))) })
	return OpenCluster(tb, o), prefix
}

// turn is held by the test that uses the whole cluster.
var turn sync.Mutex

// Whole waits until no other test of the process has the whole cluster and
// returns what opens it: all opened databases are the same. The test fails, and
// nothing is touched, if the cluster holds any key; when it ends, its keys are
// cleared. For tests of an engine, which look at the ends of the key space and
// at exact sizes.
func Whole(tb testing.TB) func(testing.TB) kv.Database {
	tb.Helper()
	turn.Lock()
	tb.Cleanup(turn.Unlock)
	refuseData(tb, OpenCluster(tb, fdbkv.Options{}))
	tb.Cleanup(func() { explainShards(tb) })
	tb.Cleanup(func() { clearRange(tb, userKeys()) })
	return func(tb testing.TB) kv.Database { return OpenCluster(tb, fdbkv.Options{}) }
}

func userKeys() kv.KeyRange { return kv.KeyRange{Begin: []byte{}, End: []byte{0xff}} }

// refuseData fails the test if the cluster holds any key.
func refuseData(tb testing.TB, db kv.Database) {
	tb.Helper()
	ctx, cancel := patience(tb)
	defer cancel()
	found, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(userKeys().Selectors(), kv.RangeOptions{Limit: 1}).Slice(ctx)
	})
	if err != nil {
		tb.Fatalf("looking at the cluster of FDB_CLUSTER_FILE: %v", err)
	}
	if len(found) > 0 {
		tb.Fatalf("this test replaces everything in the cluster, and the cluster is not empty (its first key is %q): give the test a cluster of its own, "+
			"or, if nothing there is needed, empty it with fdbcli --exec 'writemode on; clearrange \"\" \\xff'", found[0].Key)
	}
}

// explainShards says so if a test failed on a cluster that has split its keys: the
// client reads a range shard by shard, which shows in the sizes of transactions.
// Shards stay for a while after data that was there.
func explainShards(tb testing.TB) {
	if !tb.Failed() {
		return
	}
	ctx, cancel := patience(tb)
	defer cancel()
	db, err := fdbkv.Open(os.Getenv("FDB_CLUSTER_FILE"))
	if err != nil {
		return
	}
	defer db.Close()
	shards, err := kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		if err := tx.(kv.Transaction).SetOption(kv.OptionReadSystemKeys, 0); err != nil {
			return nil, err
		}
		r := kv.KeyRange{Begin: []byte("\xff/keyServers/"), End: []byte("\xff/keyServers/\xff")}
		return tx.GetRange(r.Selectors(), kv.RangeOptions{}).Slice(ctx)
	})
	if err == nil && len(shards) > 1 {
		tb.Logf("the cluster's keys lie in %d shards, left by earlier data: recorded sizes (GetApproximateSize) are those of a new cluster with one", len(shards))
	}
}

// clearRange clears a range, when the test's databases are closed.
func clearRange(tb testing.TB, r kv.KeyRange) {
	ctx, cancel := patience(tb)
	defer cancel()
	db, err := fdbkv.Open(os.Getenv("FDB_CLUSTER_FILE"))
	if err == nil {
		err = db.Transact(ctx, func(tx kv.Transaction) error {
			tx.ClearRange(r)
			return nil
		})
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		tb.Errorf("clearing what the test wrote, %q to %q: %v", r.Begin, r.End, err)
	}
}

// patience is for a cluster that does not answer.
func patience(tb testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(tb.Context()), 20*time.Second)
}
