// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"fmt"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/kv/kvtest"
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
	kvtest.ReplayGoldens(t, open, goldens.Dir(t))
}

// onHistories checks random histories with few and with many goroutines.
func onHistories(t *testing.T, check func(testing.TB, kv.Database, kvtest.LoadOptions)) {
	checkHistories(t, enginetest.Whole(t)(t), check)
}

func checkHistories(t *testing.T, db kv.Database, check func(testing.TB, kv.Database, kvtest.LoadOptions)) {
	for _, goroutines := range []int{2, 8, 32} {
		t.Run(fmt.Sprint(goroutines), func(t *testing.T) {
			total := 640
			if testing.Short() {
				total = 160
			}
			check(t, db, kvtest.LoadOptions{Seed: kvtest.SeedT(t), Goroutines: goroutines, Transactions: total / goroutines})
		})
	}
}

func TestSerializable(t *testing.T) { onHistories(t, kvtest.CheckSerializable) }

func TestCommitOrder(t *testing.T) { onHistories(t, kvtest.CheckCommitOrder) }

func TestAnomalies(t *testing.T) {
	open := enginetest.Whole(t)
	for _, a := range kvtest.Anomalies {
		t.Run(string(a), func(t *testing.T) { kvtest.CheckAnomaly(t, open, a) })
	}
}

// What a layer may meet on a bad day, on the real client.
func TestConformanceBelowTheHostileWrapper(t *testing.T) {
	open := enginetest.Whole(t)
	options := kvtest.HostileOptions{Seed: kvtest.SeedT(t), SpareExplicit: true}
	kvtest.RunConformance(t, func(tb testing.TB) kv.Database { return kvtest.Hostile(open(tb), options) })
}
