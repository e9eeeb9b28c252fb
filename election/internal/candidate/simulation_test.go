// SPDX-License-Identifier: Apache-2.0

package candidate_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// electionsVariable says how many elections TestSimulation simulates.
const electionsVariable = "KAZAHANA_ELECTIONS"

// electionsOfRun is how many elections one seed simulates.
const electionsOfRun = 250

// TestSimulation simulates elections with crashes, pauses, clocks that drift, jump and
// stand still, commits without an answer (1021), transactions too old (1007) and recoveries,
// after which versions are 100 s higher. Transactions under terms must commit in the order
// of ranks. Where clocks are exact, no two may believe to lead. There must be a leader
// again within the bound while a candidate is up.
func TestSimulation(t *testing.T) {
	elections := 20_000
	if testing.Short() {
		elections = 2_000
	}
	if text := os.Getenv(electionsVariable); text != "" {
		var err error
		if elections, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", electionsVariable, err)
		}
	}
	first := seed.Of(t)
	var total counts
	var longest [2]time.Duration
	bounded, done := 0, 0
	for number := first; done < elections; number++ {
		w := newWorld(number, none)
		if err := w.run(electionsOfRun); err != nil {
			t.Fatalf("seed %d (%s=%d shows it at once): %v", number, seed.Variable, number, err)
		}
		done, bounded = done+w.elections, bounded+w.bounded
		longest[number%2] = max(longest[number%2], w.longest)
		total.add(w.counts)
	}
	t.Logf("%d elections, %d of them with a bound: the longest took %v with exact clocks (bound %v), %v with others (bound %v)",
		done, bounded, longest[0], (&world{exact: true}).bound(), longest[1], (&world{}).bound())
	t.Logf("%+v", total)
	if bounded < done/4 {
		t.Errorf("only %d of %d vacancies had a bound", bounded, done)
	}
	for _, kind := range strings.Fields(strings.Trim(fmt.Sprintf("%+v", total), "{}")) {
		if strings.HasSuffix(kind, ":0") {
			t.Errorf("nothing of this happened: %s", kind)
		}
	}
}

func (c *counts) add(o counts) {
	c.crashes += o.crashes
	c.pauses += o.pauses
	c.jumps += o.jumps
	c.lost += o.lost
	c.expired += o.expired
	c.conflicts += o.conflicts
	c.recoveries += o.recoveries
	c.refused += o.refused
	c.takeovers += o.takeovers
}

// TestSimulationFails puts faults into what is simulated, each of which must be found.
func TestSimulationFails(t *testing.T) {
	first := seed.Of(t)
	for m, want := range map[mutation]string{
		noFence:       "wrote after rank",
		countFromEnd:  "believes that its lease ends",
		takeoverEarly: "believes that its lease ends",
		lostWatches:   "leader",
	} {
		err := error(nil)
		for seed := first; err == nil && seed < first+200; seed++ {
			w := newWorld(seed, m)
			err = w.run(electionsOfRun)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("mutation %d was not found: %v", m, err)
		}
		t.Logf("mutation %d: %v", m, err)
	}
}

// FuzzSimulation looks for a seed that violates a promise.
func FuzzSimulation(f *testing.F) {
	f.Add(uint64(0))
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		if err := newWorld(seed, none).run(3); err != nil {
			t.Fatal(err)
		}
	})
}
