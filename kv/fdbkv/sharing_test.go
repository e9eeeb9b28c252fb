// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/kv/kvtest/history"
	"github.com/kazahana-db/kazahana/kv/kvtest/replay"
)

// TestSharing runs the tests of the engine's contract once more with every
// transaction, those that write as well, beginning in a transaction of the client
// that it shares with others.
func TestSharing(t *testing.T) {
	alwaysShare(t)
	for name, test := range map[string]func(*testing.T, func(testing.TB) kv.Database){
		"Conformance": func(t *testing.T, open func(testing.TB) kv.Database) { kvtest.RunConformance(t, open) },
		"Hostile": func(t *testing.T, open func(testing.TB) kv.Database) {
			options := faults.Options{Seed: seed.Of(t), SpareExplicit: true}
			kvtest.RunConformance(t, func(tb testing.TB) kv.Database { return faults.Hostile(open(tb), options) })
		},
		"Finds": func(t *testing.T, open func(testing.TB) kv.Database) { replay.Finds(t, open) },
		"Serializable": func(t *testing.T, open func(testing.TB) kv.Database) {
			checkHistories(t, open(t), history.CheckSerializable)
		},
		"CommitOrder": func(t *testing.T, open func(testing.TB) kv.Database) {
			checkHistories(t, open(t), history.CheckCommitOrder)
		},
		"Anomalies": func(t *testing.T, open func(testing.TB) kv.Database) {
			for _, a := range kvtest.Anomalies {
				t.Run(string(a), func(t *testing.T) { kvtest.CheckAnomaly(t, open, a) })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole := enginetest.Whole(t)
			test(t, func(tb testing.TB) kv.Database { return sharedDatabase(whole(tb)) })
		})
	}
}

func sharedDatabase(db kv.Database) kv.Database {
	return fdbkv.SharedDatabase{Database: db.(*fdbkv.Database)}
}

// Lifetimes, too, where functions of ReadTransact share.
func TestLifetimesOfSharing(t *testing.T) {
	alwaysShare(t)
	for name, test := range map[string]func(*testing.T){
		"AbandonedReads":        TestAbandonedReads,
		"CloseWithTransactions": TestCloseWithTransactionsAlive,
		"CancelDuringCommit":    TestCancelDuringCommit,
		"DatabasesAreApart":     TestDatabasesOfOneClusterAreApart,
		"Defaults":              TestDefaults,
	} {
		t.Run(name, test)
	}
}
