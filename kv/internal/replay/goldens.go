// SPDX-License-Identifier: Apache-2.0

// Package replay replays on an engine what a FoundationDB 7.3 cluster answered:
// every step must give the same answer and leave the same contents.
//
//	func TestGoldens(t *testing.T) {
//		replay.Goldens(t, openEngine, "testdata/recordings")
//	}
//
//	func TestFinds(t *testing.T) {
//		replay.Finds(t, openEngine)
//	}
//
// [Goldens] replays recorded traces, [Finds] the random programs in which engines
// once differed. testdata/coverage.md lists which behaviour the traces of this
// repository prove.
package replay

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/internal/play"
	"github.com/kazahana-db/kazahana/kv/internal/scenario"
)

// goldenFiles are the recorded traces of the contract. Each must be there.
var goldenFiles = []string{
	"atomics", "ryw", "conflicts", "conflict-ranges", "errors", "versionstamps", "watches",
	"random-1", "random-2", "random-3", "random-lazy",
}

// Goldens replays traces that were recorded on a real FoundationDB: on
// the engine that open returns, every step must give the recorded answer and
// leave the recorded contents. Each file is a subtest that runs on one database
// of its own, in parallel with the others, and each scenario is a subtest of
// its file: -run 'TestGoldens/ryw/none/serializable/get' runs a single one.
//
// open must return an engine of which nothing below \xff needs to be kept.
// dir is the folder of the traces, JSON Lines or these compressed by gzip. differing names scenarios in which the engine
// is known to differ: one of them that agrees fails, so that the list can only
// shrink.
func Goldens(t *testing.T, open func(testing.TB) kv.Database, dir string, differing ...string) {
	t.Helper()
	for _, pattern := range goldenFiles {
		paths, err := goldens.Glob(dir, pattern)
		if err != nil {
			t.Error(err)
		}
		for _, path := range paths {
			t.Run(goldens.Name(path), func(t *testing.T) {
				t.Parallel()
				replayFile(t, open, path, differing)
			})
		}
	}
}

func replayFile(t *testing.T, open func(testing.TB) kv.Database, path string, differing []string) {
	scenarios, err := scenario.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(scenarios) == 0 {
		t.Fatalf("%s holds no scenario", path)
	}
	db := open(t)
	var sum tally
	for i := range scenarios {
		s := &scenarios[i]
		t.Run(strings.TrimPrefix(s.Name, s.Kind+"/"), func(t *testing.T) {
			if slices.Contains(differing, s.Name) {
				expectDifference(t, db, s)
				return
			}
			sum.run++
			if sum.add(play.Run(t.Context(), db, s)) {
				t.Error(sum.last)
			}
		})
	}
	if len(sum.failed) > 0 {
		t.Error(sum.String())
	}
}

// expectDifference replays a scenario in which the engine is known to differ.
func expectDifference(t *testing.T, db kv.Database, s *scenario.Scenario) {
	differences, err := play.Run(t.Context(), db, s)
	if err == nil && len(differences) == 0 {
		t.Error("this scenario agrees now: take it off the list of those that differ")
	}
}

// tally counts scenarios and sorts their failures by kind.
type tally struct {
	run    int
	failed map[string]int // by the shape of the first difference
	total  int
	last   string
}

// add counts a scenario's outcome and reports whether it failed.
func (c *tally) add(differences []scenario.Difference, err error) bool {
	if err == nil && len(differences) == 0 {
		return false
	}
	shape := "cannot run"
	c.last = fmt.Sprint(err)
	if err == nil {
		shape = differences[0].Shape()
		c.last = scenario.ShowDifferences(differences)
	}
	if c.failed == nil {
		c.failed = map[string]int{}
	}
	c.failed[shape]++
	c.total++
	return true
}

// String sums up: how many failed, and the commonest first differences.
func (c *tally) String() string {
	shapes := make([]string, 0, len(c.failed))
	for shape := range c.failed {
		shapes = append(shapes, shape)
	}
	sort.Slice(shapes, func(i, j int) bool {
		if c.failed[shapes[i]] != c.failed[shapes[j]] {
			return c.failed[shapes[i]] > c.failed[shapes[j]]
		}
		return shapes[i] < shapes[j]
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d scenarios differ; first differences:", c.total, c.run)
	for i, shape := range shapes {
		if i == 20 {
			fmt.Fprintf(&b, "\n%6s …and %d more kinds", "", len(shapes)-i)
			break
		}
		fmt.Fprintf(&b, "\n%6d × %s", c.failed[shape], shape)
	}
	return b.String()
}

// findLines are programs in which difftest.Run once found the embedded engine to
// differ from a cluster, with the answers of FoundationDB 7.3.
//
//go:embed testdata/finds.jsonl
var findLines []byte

// Finds replays the programs in which engines were once found to differ:
// on the engine that open returns, every step must give the answer that
// FoundationDB 7.3 gave and leave the contents that it left. Each is a subtest. The
// databases are those of [Goldens].
func Finds(t *testing.T, open func(testing.TB) kv.Database) {
	t.Helper()
	scenarios, err := scenario.Decode(bytes.NewReader(findLines), "finds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	db := open(t)
	for i := range scenarios {
		s := &scenarios[i]
		t.Run(strings.TrimPrefix(s.Name, s.Kind+"/"), func(t *testing.T) {
			differences, err := play.Run(t.Context(), db, s)
			if err != nil {
				t.Fatal(err)
			}
			if len(differences) > 0 {
				t.Error(scenario.ShowDifferences(differences))
			}
		})
	}
}
