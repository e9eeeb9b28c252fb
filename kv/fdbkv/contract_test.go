// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/kv/kvtest/history"
	"github.com/kazahana-db/kazahana/kv/kvtest/replay"
)

func TestConformance(t *testing.T) { kvtest.RunConformance(t, enginetest.Whole(t)) }

func TestDefaults(t *testing.T) {
	enginetest.Whole(t)(t) // for a cluster that is empty before and after
	kvtest.RunDefaults(t, func(tb testing.TB, d kv.TransactionDefaults) kv.Database {
		return enginetest.OpenCluster(tb, fdbkv.Options{Transactions: d})
	})
}

func TestGoldens(t *testing.T) {
	open := func(tb testing.TB) kv.Database { return enginetest.Whole(tb)(tb) } // each file in its turn
	replay.Goldens(t, open, goldens.Dir(t))
}

// onHistories checks random histories with few and with many goroutines.
func onHistories(t *testing.T, check func(testing.TB, kv.Database, history.LoadOptions)) {
	checkHistories(t, enginetest.Whole(t)(t), check)
}

func checkHistories(t *testing.T, db kv.Database, check func(testing.TB, kv.Database, history.LoadOptions)) {
	for _, goroutines := range []int{2, 8, 32} {
		t.Run(fmt.Sprint(goroutines), func(t *testing.T) {
			total := 640
			if testing.Short() {
				total = 160
			}
			check(t, db, history.LoadOptions{Seed: seed.Of(t), Goroutines: goroutines, Transactions: total / goroutines})
		})
	}
}

func TestSerializable(t *testing.T) { onHistories(t, history.CheckSerializable) }

func TestCommitOrder(t *testing.T) { onHistories(t, history.CheckCommitOrder) }

func TestAnomalies(t *testing.T) {
	open := enginetest.Whole(t)
	for _, a := range kvtest.Anomalies {
		t.Run(string(a), func(t *testing.T) { kvtest.CheckAnomaly(t, open, a) })
	}
}

// What a layer may meet on a bad day, on the real client.
func TestConformanceBelowTheHostileWrapper(t *testing.T) {
	open := enginetest.Whole(t)
	options := faults.Options{Seed: seed.Of(t), SpareExplicit: true}
	kvtest.RunConformance(t, func(tb testing.TB) kv.Database { return faults.Hostile(open(tb), options) })
}
