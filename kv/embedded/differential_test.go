// SPDX-License-Identifier: Apache-2.0

package embedded_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/kvtest/difftest"
	"github.com/kazahana-db/kazahana/kv/kvtest/replay"
)

// TestDifferential compares the engine in memory with the one on a disk, whose
// reads and commits take other ways.
func TestDifferential(t *testing.T) {
	options := difftest.Options{Seed: seed.Of(t), Names: [2]string{"memory", "durable"}}
	if testing.Short() {
		options.Programs = 60
	}
	difftest.Run(t, openMemory(t), openDurable(t), options)
}

func TestFinds(t *testing.T) {
	t.Run("memory", func(t *testing.T) { replay.Finds(t, openMemory) })
	t.Run("durable", func(t *testing.T) { replay.Finds(t, openDurable) })
}
