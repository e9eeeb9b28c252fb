// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/placement/internal/sim"
)

// runsVariable names the environment variable that sets how many seeds the tests run.
const runsVariable = "KAZAHANA_PLACEMENT_RUNS"

// TestSimulation runs members, clients and their store through faults, with package memory's home
// in both of its modes. The seeds follow each other from one that is drawn.
func TestSimulation(t *testing.T) {
	first, n := chosen(t, 20, 200)
	sum := runAll(t, first, n, runtime.GOMAXPROCS(0), func(uint64) sim.Options { return sim.Options{} })
	t.Logf("%d seeds: %+v", n, sum)
	if n >= 100 && !t.Failed() {
		checkCoverage(t, sum, n)
	}
}

// chosen returns the first seed and how many to run. A seed that is given is run alone.
func chosen(t *testing.T, short, long int) (first uint64, n int) {
	t.Helper()
	first = seed.Of(t)
	if text := os.Getenv(runsVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", runsVariable, err)
		}
		return first, n
	}
	switch {
	case seed.Given():
		return first, 1
	case testing.Short():
		return first, short
	}
	return first, long
}

// runAll runs n seeds.
func runAll(t *testing.T, first uint64, n, workers int, options func(seed uint64) sim.Options) sim.Result {
	t.Helper()
	var (
		running sync.WaitGroup
		next    atomic.Int64
		mu      sync.Mutex
		sum     sim.Result
	)
	for range workers {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !t.Failed(); i = next.Add(1) - 1 {
				seed := first + uint64(i)
				r, err := sim.Run(seed, options(seed))
				if err != nil {
					report(t, seed, options(seed), err)
				}
				mu.Lock()
				sum.Add(r)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return sum
}

// report shows how a seed fails, in as few steps as possible.
func report(t *testing.T, number uint64, o sim.Options, err error) {
	t.Helper()
	var trace []string
	o.Trace = func(line string) { trace = append(trace, line) }
	found, o, steps := sim.Shrink(number, o)
	if found == nil {
		t.Errorf("%v\nand it does not fail again", err)
		return
	}
	_, _ = sim.Run(number, o)
	t.Errorf("%v\nrepeat it with %s=%d\nsteps:\n%s\ntrace:\n%s", err, seed.Variable, number, strings.Join(steps, "\n"), strings.Join(trace, "\n"))
}

// checkCoverage checks that the runs have met what they are there for.
func checkCoverage(t *testing.T, sum sim.Result, n int) {
	t.Helper()
	for name, count := range map[string]int{
		"100 resolves": sum.Resolves / 100, "calls": sum.Handled / 50, "crashes": sum.Crashes, "pauses": sum.Pauses, "lost replies": sum.LostReplies,
		"doubled messages": sum.Doubled, "clock jumps": sum.ClockJumps, "recoveries": sum.Recoveries * 2, "deployments": sum.Deployments,
		"evictions": sum.Evictions, "lost memberships": sum.Lost, "fenced writes": sum.Fenced * 20, "moves": sum.Moves * 2, "passivations": sum.Passivations,
		"results given back": sum.GivenBack, "timeouts": sum.TimedOut * 4,
	} {
		if count < n {
			t.Errorf("%d seeds met too few %s: %d", n, name, count)
		}
	}
}

// TestSameSeedSameRun checks that a seed that is printed repeats its run.
func TestSameSeedSameRun(t *testing.T) {
	first := seed.Of(t)
	for seed := first; seed < first+3; seed++ {
		once, _ := sim.Run(seed, sim.Options{})
		if again, _ := sim.Run(seed, sim.Options{}); again != once {
			t.Errorf("seed %d: %+v, then %+v", seed, once, again)
		}
	}
}
