// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/kv/kvtest/difftest"
	"github.com/kazahana-db/kazahana/kv/kvtest/replay"
)

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
