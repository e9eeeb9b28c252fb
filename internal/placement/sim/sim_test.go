// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
)

// TestSimulation runs members, clients and their store through faults, with package memory's home
// in both of its modes. The seeds follow each other from one that is drawn.
func TestSimulation(t *testing.T) {
	seeds := series(t, 20, 200)
	sum := runAll(t, seeds, runtime.GOMAXPROCS(0), func(uint64) Options { return Options{} })
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
func runAll(t *testing.T, seeds []uint64, workers int, options func(seed uint64) Options) Result {
	t.Helper()
	var (
		running sync.WaitGroup
		next    atomic.Int64 // how many seeds have begun
		mu      sync.Mutex
		sum     Result
	)
	for range workers {
		running.Go(func() {
			for n := next.Add(1); n <= int64(len(seeds)) && !t.Failed(); n = next.Add(1) {
				seed := seeds[n-1]
				r, err := Run(seed, options(seed))
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
func report(t *testing.T, number uint64, o Options, err error) {
	t.Helper()
	var trace []string
	o.Trace = func(line string) { trace = append(trace, line) }
	found, o, steps := Shrink(number, o)
	if found == nil {
		t.Errorf("%v\nand it does not fail again", err)
		return
	}
	_, _ = Run(number, o)
	t.Errorf("%v\nto repeat: %s\nsteps:\n%s\ntrace:\n%s", err, seed.Command(t, number), strings.Join(steps, "\n"), strings.Join(trace, "\n"))
}

// checkCoverage checks that the runs have met what they are there for.
func checkCoverage(t *testing.T, sum Result, n int) {
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
		once, _ := Run(seed, Options{})
		if again, _ := Run(seed, Options{}); again != once {
			t.Errorf("seed %d: %+v, then %+v", seed, once, again)
		}
	}
}

// TestShrink checks that what is shown of a seed that fails is a part of its plan, fails in the same
// way, and says how.
func TestShrink(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs many seeds")
	}
	var trace []string
	o := Options{Home: KeptHome, Mutation: NoFence}
	seed := firstViolation(t, o, []Kind{LostUpdate, OutOfOrder})
	_, err := Run(seed, o)
	whole := AsViolation(err)
	o.Trace = func(line string) { trace = append(trace, line) }
	found, o, steps := Shrink(seed, o)
	if found == nil || found.Kind != whole.Kind || len(trace) > 0 {
		t.Fatalf("seed %d shrinks from %v to %v, with %d lines of trace", seed, whole, found, len(trace))
	}
	if len(steps) == 0 || len(steps) > 60 {
		t.Errorf("seed %d fails with %d steps:\n%s", seed, len(steps), strings.Join(steps, "\n"))
	}
	if _, err := Run(seed, o); err == nil || err.Error() != found.Error() {
		t.Errorf("the steps fail with %v, then with %v", found, err)
	}
	if !slices.ContainsFunc(trace, func(line string) bool { return strings.Contains(line, "VIOLATION") }) {
		t.Errorf("the trace of %d lines has no violation", len(trace))
	}
	t.Logf("%v\n%s", found, strings.Join(steps, "\n"))
}

// most is how many seeds each mutation has to be noticed.
const most = 500

// TestMutations checks that the oracle can fail: it notices each fault that is put into the
// program, in one of the first 500 seeds, and nothing in that seed without it.
func TestMutations(t *testing.T) {
	cases := map[string]struct {
		mutation Mutation
		home     Home
		kinds    []Kind
	}{
		"effects are not fenced":                     {NoFence, KeptHome, []Kind{LostUpdate, OutOfOrder}},
		"effects are not fenced where locks lapse":   {NoFence, LapseHome, []Kind{LostUpdate, OutOfOrder}},
		"fence is checked before the write":          {CheckThenWrite, AnyHome, []Kind{LostUpdate, OutOfOrder}},
		"failed stores count":                        {HideStoreFailures, LapseHome, []Kind{TwoActivations, Disagreement}},
		"results are dropped":                        {DropLateResults, AnyHome, []Kind{NotServed, LeftBehind, Stuck, NotAnswered}},
		"removals are unconditional":                 {RemoveAnything, KeptHome, []Kind{TwoActivations}},
		"removals are unconditional at locks":        {RemoveAnything, LapseHome, []Kind{TwoActivations}},
		"claims of living owners are taken":          {TakeFromLiving, KeptHome, []Kind{TwoActivations}},
		"entries are not regarded":                   {IgnoreEntries, LapseHome, []Kind{TwoActivations}},
		"epochs come twice":                          {ReuseEpochs, AnyHome, []Kind{EpochReused}},
		"incarnations come twice":                    {ReuseIncarnations, KeptHome, []Kind{EpochReused, TwoWriters, TwoActivations, LostUpdate}},
		"nothing is given back":                      {ForgetReleases, KeptHome, []Kind{LeftBehind, NotServed, Disagreement}},
		"activations count as ended before they are": {DeactivateEarly, AnyHome, []Kind{TwoActivations}},
		"unreachable is dead":                        {UnreachableIsDead, LapseHome, []Kind{TwoActivations}},
		"old topologies are put in force":            {RenumberTopologies, LapseHome, []Kind{TwoActivations, NotServed}},
		"events are swapped":                         {SwapEvents, AnyHome, []Kind{Unordered}},
		"answers are lost":                           {LoseAnswers, AnyHome, []Kind{NotAnswered, NotServed}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && c.mutation != NoFence {
				t.Skip("-short")
			}
			o := Options{Home: c.home, Mutation: c.mutation}
			seed := firstViolation(t, o, c.kinds)
			o.Mutation = None
			if _, err := Run(seed, o); err != nil {
				t.Errorf("without the mutation: %v", err)
			}
		})
	}
}

// firstViolation returns the first seed with a violation of one of the kinds.
func firstViolation(t *testing.T, o Options, kinds []Kind) uint64 {
	t.Helper()
	for seed := uint64(1); seed <= most; seed++ {
		_, err := Run(seed, o)
		if v := AsViolation(err); v != nil && slices.Contains(kinds, v.Kind) {
			t.Log(v)
			return seed
		} else if v != nil {
			t.Logf("of another kind: %v", v)
		}
	}
	t.Fatalf("not noticed in %d seeds", most)
	return 0
}

// The program as it is passes; one with a home that grants an epoch twice is caught.
func Example() {
	_, err := Run(1, Options{})
	fmt.Println(err)

	_, err = Run(1, Options{Mutation: ReuseEpochs})
	fmt.Println(AsViolation(err).Kind)
	// Output:
	// <nil>
	// an epoch was granted twice, or is not greater than one before
}
