// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/examples/raft/sim"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/rafttimer"
)

// variant returns the options of a seed: with and without CheckQuorum and PreVote, and with and
// without back-off.
func variant(seed uint64) sim.Options {
	o := sim.Options{
		Sticky: seed%2 == 1, Drift: 0.2,
		Network: sim.Network{MinDelay: time.Millisecond, MaxDelay: 10 * time.Millisecond},
	}
	if seed/2%2 == 1 {
		o.Timing = rafttimer.Config{BackoffFactor: 1.5, BackoffLimit: 3}
	}
	return o
}

// TestSimulation runs five nodes through random faults: a term has at most one leader, no committed entry
// is lost, no read is stale, and there is a leader within Options.Bound after the faults.
func TestSimulation(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 300
	}
	all := seed.Series(t, n)
	results := runAll(t, all)
	if len(all) >= 100 && !t.Failed() {
		checkCoverage(t, results)
	}
}

// runAll runs all seeds on all processors.
func runAll(t *testing.T, all []uint64) []sim.Result {
	results := make([]sim.Result, len(all))
	var running sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		running.Go(func() {
			for i := worker; i < len(all) && !t.Failed(); i += workers {
				var err error
				if results[i], err = sim.Run(all[i], variant(all[i])); err != nil {
					t.Errorf("%v\nto repeat: %s", err, seed.Command(t, all[i]))
				}
			}
		})
	}
	running.Wait()
	return results
}

// checkCoverage checks that the runs had each kind of event often enough, and logs the counts.
func checkCoverage(t *testing.T, results []sim.Result) {
	t.Helper()
	var sum sim.Result
	var settled []time.Duration
	for _, r := range results {
		sum = sum.Add(r)
		settled = append(settled, r.Settled)
	}
	slices.Sort(settled)
	n := len(results)
	t.Logf("%d runs: %+v", n, sum)
	t.Logf("a leader after the faults: median %v, p99 %v, at most %v", settled[n/2], settled[n*99/100], settled[n-1])
	for name, count := range map[string]int{
		"leaders": sum.Leaders, "elections": sum.Elections - sum.Leaders, "entries": sum.Committed, "reads": sum.Reads,
		"crashes": sum.Crashes, "snapshots": sum.Snapshots * 4, "stalls": sum.Stalls,
	} {
		if count < n {
			t.Errorf("%d runs met %d %s", n, count, name)
		}
	}
}

// TestSameSeedSameRun checks that a seed that is printed repeats its run.
func TestSameSeedSameRun(t *testing.T) {
	for _, seed := range seed.Series(t, 20) {
		once, err := sim.Run(seed, variant(seed))
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := sim.Run(seed, variant(seed)); again != once {
			t.Errorf("seed %d: %+v, then %+v", seed, once, again)
		}
	}
}

func TestBadTiming(t *testing.T) {
	o := sim.Options{Timing: rafttimer.Config{HeartbeatInterval: time.Hour}}
	if _, err := sim.Run(1, o); err == nil {
		t.Error("Run accepts a heartbeat that is longer than the election timeout")
	}
	if _, err := sim.RunTakeover(1, o); err == nil {
		t.Error("RunTakeover accepts it")
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
