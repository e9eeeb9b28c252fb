// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// TestSharing runs the tests of this package once more with every function of
// ReadTransact sharing its transaction of the client, as if there were many.
func TestSharing(t *testing.T) {
	t.Cleanup(fdbkv.SetFewReaders(0))
	for name, test := range map[string]func(*testing.T){
		"Conformance":  TestConformance,
		"Hostile":      TestConformanceBelowTheHostileWrapper,
		"Defaults":     TestDefaults,
		"Finds":        TestFinds,
		"Goldens":      TestGoldens,
		"Serializable": TestSerializable,
		"CommitOrder":  TestCommitOrder,
		"Linearizable": TestLinearizable,
		"Anomalies":    TestAnomalies,

		"AbandonedReads":             TestAbandonedReads,
		"FuturesOutlive":             TestFuturesOutliveTransactions,
		"CloseWithTransactions":      TestCloseWithTransactionsAlive,
		"ContextEndsWaiting":         TestContextEndsWaitingForAClusterThatIsDown,
		"CloseEndsWaiting":           TestCloseEndsWaitingForAClusterThatIsDown,
		"NoGoroutineWaitsForARead":   TestNoGoroutineWaitsForARead,
		"WatchOutlives":              TestWatchOutlivesItsTransaction,
		"DatabasesOfOneClusterApart": TestDatabasesOfOneClusterAreApart,
	} {
		t.Run(name, test)
	}
}
