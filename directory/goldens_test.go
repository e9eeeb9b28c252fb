// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"bufio"
	"encoding/json"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// script is a line of directory.jsonl: calls of the official directory layer,
// with what it answered and what was in the database afterwards.
type script struct {
	Name   string
	Config struct {
		Node, Content  string
		ManualPrefixes bool `json:"manual_prefixes"`
	}
	Steps []scriptStep
	Final scriptFinal
}

type scriptStep struct {
	Op            string
	Dir, As, Txn  int
	Path          []string
	NewPath       []string `json:"new_path"`
	Layer, Prefix *string
	Key, Value    string
	Want          scriptAnswer
}

// scriptAnswer is what a call answered; a field that is absent is nil.
type scriptAnswer struct {
	Error, Panic    *string
	Path            *[]string
	Layer           *string
	Prefix          any // hex, or {"alloc": n}
	Exists, Removed *bool
	Names           *[]string
	Code            int
}

type scriptFinal struct {
	Version *string
	Nodes   []scriptNode
	HCA     []struct {
		Partition []string
		Counters  [][2]int64
		Recent    int
	}
	Stray int
	Raw   [][2]string
}

type scriptNode struct {
	Path    []string
	Prefix  any
	Layer   string
	Content [][2]string
}

func readScripts(t *testing.T) []script {
	t.Helper()
	var scripts []script
	lines := bufio.NewScanner(goldens.Trace(t, "directory"))
	lines.Buffer(nil, 10<<20)
	for lines.Scan() {
		var s script
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("line %d: %v", len(scripts)+1, err)
		}
		scripts = append(scripts, s)
	}
	if err := lines.Err(); err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	return scripts
}

// TestGoldens replays every script on the embedded engine.
func TestGoldens(t *testing.T) {
	for _, s := range readScripts(t) {
		t.Run(s.Name, func(t *testing.T) { replay(t, func() kv.Database { return enginetest.Open(t) }, s) })
	}
}

// TestGoldensHostile replays them where every commit is retried and
// acknowledgements are lost: nothing must come out different.
func TestGoldensHostile(t *testing.T) {
	for _, s := range readScripts(t) {
		if slices.ContainsFunc(s.Steps, func(step scriptStep) bool { return step.Txn != 0 }) {
			continue // no loop retries an explicit transaction
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			replay(t, func() kv.Database { return faults.HostileT(t, enginetest.Open(t)) }, s)
		})
	}
}
