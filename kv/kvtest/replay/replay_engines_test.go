// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/goldens"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/naive"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/play"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

// The naive engine is right about atomic operations, and nearly right about the
// rest: its conflict ranges are a little simpler than FoundationDB's.
func TestReplayOnTheNaiveEngine(t *testing.T) {
	for name, most := range map[string]int{"atomics": 0, "ryw": 40, "conflicts": 140} {
		if sum := replayAll(t, name, naive.Open(t)); sum.total > most {
			t.Errorf("%s: %s", name, sum.String())
		}
	}
}

// faultyGoldens are wrong engines and a recording that each contradicts.
var faultyGoldens = map[string]string{
	"no read conflicts":       "conflicts",
	"no phantoms":             "conflicts",
	"absent keys are empty":   "ryw",
	"additions conflict":      "conflicts",
	"cleared ranges stay":     "ryw",
	"snapshot reads conflict": "conflicts",
	"writes are reads":        "conflicts",
}

func TestReplayNoticesWrongEngines(t *testing.T) {
	onRight := map[string]*tally{} // by recording, since several engines are wrong about the same one
	for fault, golden := range faultyGoldens {
		t.Run(fault, func(t *testing.T) {
			sum := replayAll(t, golden, naive.OpenFaulty(t, fault))
			right := onRight[golden]
			if right == nil {
				right = replayAll(t, golden, naive.Open(t))
				onRight[golden] = right
			}
			if sum.total <= right.total || sum.total == sum.run {
				t.Errorf("%d of %d scenarios differ, %d on the right engine", sum.total, sum.run, right.total)
			}
			if text := sum.String(); !strings.Contains(text, "scenarios differ") || !strings.Contains(text, "want") {
				t.Errorf("the summary says nothing: %s", text)
			}
		})
	}
}

// replayAll replays a recording without failing the test.
func replayAll(t *testing.T, name string, db kv.Database) *tally {
	t.Helper()
	scenarios, err := scenario.Decode(goldens.Trace(t, name), name)
	if err != nil {
		t.Fatal(err)
	}
	var sum tally
	for i := range scenarios {
		sum.run++
		sum.add(play.Run(t.Context(), db, &scenarios[i]))
	}
	return &sum
}
