// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/placement/internal/sim"
)

// TestSimulation runs members, clients and their store through faults, with package memory's home
// in both of its modes. The seeds follow each other from one that is drawn.
func TestSimulation(t *testing.T) {
	seeds := series(t, 20, 200)
	sum := runAll(t, seeds, runtime.GOMAXPROCS(0), func(uint64) sim.Options { return sim.Options{} })
	t.Logf("%d seeds: %+v", len(seeds), sum)
	if len(seeds) >= 100 && !t.Failed() {
		checkCoverage(t, sum, len(seeds))
	}
}

// series returns the seeds of a test that runs few of them with -short.
func series(t *testing.T, short, long int) []uint64 {
	t.Helper()
	if testing.Short() {
		return seed.Series(t, short)
	}
	return seed.Series(t, long)
}

// runAll runs all seeds.
func runAll(t *testing.T, seeds []uint64, workers int, options func(seed uint64) sim.Options) sim.Result {
	t.Helper()
	var (
		running sync.WaitGroup
		next    atomic.Int64 // how many seeds have begun
		mu      sync.Mutex
		sum     sim.Result
	)
	for range workers {
		running.Go(func() {
			for n := next.Add(1); n <= int64(len(seeds)) && !t.Failed(); n = next.Add(1) {
				seed := seeds[n-1]
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
	t.Errorf("%v\nto repeat: %s\nsteps:\n%s\ntrace:\n%s", err, seed.Command(t, number), strings.Join(steps, "\n"), strings.Join(trace, "\n"))
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
	for _, seed := range seed.Series(t, 3) {
		once, _ := sim.Run(seed, sim.Options{})
		if again, _ := sim.Run(seed, sim.Options{}); again != once {
			t.Errorf("seed %d: %+v, then %+v", seed, once, again)
		}
	}
}
