// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/kv/internal/difftest"
	"github.com/kazahana-db/kazahana/kv/internal/history"
	"github.com/kazahana-db/kazahana/kv/internal/replay"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

func TestConformance(t *testing.T) { kvtest.RunConformance(t, enginetest.Whole(t)) }

func TestOptions(t *testing.T) {
	enginetest.Whole(t)(t) // for a cluster that is empty before and after
	kvtest.RunOptions(t, func(tb testing.TB, d kv.TransactionOptions) kv.Database {
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

// programsVariable is the environment variable that says how many random
// programs TestDifferential runs. 300 take about a minute.
const programsVariable = "KAZAHANA_PROGRAMS"

// TestDifferential runs random programs on the cluster and on the embedded
// engine, which must answer alike.
func TestDifferential(t *testing.T) {
	options := difftest.Options{Seed: seed.Of(t), Programs: programs(t), Names: [2]string{"cluster", "embedded"}}
	memory, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	difftest.Run(t, enginetest.Whole(t)(t), memory, options)
}

func programs(t *testing.T) int {
	text := os.Getenv(programsVariable)
	switch {
	case text == "" && testing.Short():
		return 60
	case text == "":
		return 300
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", programsVariable, err)
	}
	return n
}

func TestFinds(t *testing.T) { replay.Finds(t, enginetest.Whole(t)) }

// The client's header declares all that internal/fdbheader does, and the same: a
// C compiler refuses a second declaration that differs.
func TestDeclarationsAgree(t *testing.T) {
	source := "#define FDB_API_VERSION 730\n#include <foundationdb/fdb_c.h>\n#include \"functions.h\"\n"
	if out, err := compile(t, source); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	other := source + "int fdb_future_cancel(int);\n"
	if _, err := compile(t, other); err == nil {
		t.Error("the compiler takes a declaration that differs")
	}
}

func compile(t *testing.T, source string) ([]byte, error) {
	t.Helper()
	args := append(strings.Fields(os.Getenv("CGO_CFLAGS")), "-I../../internal/fdbheader", "-fsyntax-only", "-Werror=implicit-function-declaration", "-x", "c", "-")
	cc := exec.CommandContext(t.Context(), compiler(), args...)
	cc.Stdin = strings.NewReader(source)
	return cc.CombinedOutput()
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}
