// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"
)

// Runner runs stages.
type Runner struct {
	Rounds   int            // of each contest; the medians are of so many
	Span     time.Duration  // how long the rounds of elastic entrants take
	Dir      string         // where stages put their files
	Stages   *regexp.Regexp // names of the stages to run; nil: all
	Contests *regexp.Regexp // names of the contests to run; nil: all
	Progress func(string)   // is told what is being run; may be nil
	Done     func(*Result)  // is told of each result; may be nil

	// Turn, if not nil, is called when an entrant begins a round, and what it
	// returns when the round is over: a profiler, say.
	Turn func(c *Contest, entrant int) (end func())
}

// Result is what was measured of a contest.
type Result struct {
	Contest
	Rates  [][]float64     // of each entrant, operations a second, by round
	Allocs [][]float64     // of each entrant, allocations an operation, by round
	Fsync  []time.Duration // what a sync cost between the rounds
	Said   string          // what the contest's Note said
}

// Run runs the contests of the stages, one after the other.
func (r *Runner) Run(stages []Stage) ([]Result, error) {
	var all []Result
	for _, stage := range stages {
		results, err := r.stage(stage)
		all = append(all, results...)
		if err != nil {
			return all, fmt.Errorf("%s: %w", stage.Name, err)
		}
	}
	return all, nil
}

func (r *Runner) stage(stage Stage) (results []Result, err error) {
	if !matches(r.Stages, stage.Name) {
		return nil, nil
	}
	dir, err := os.MkdirTemp(r.Dir, "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r.progress(stage.Name + ": opening")
	set, err := stage.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	results = set.Measured
	for _, c := range set.Contests {
		if !matches(r.Contests, c.Name) {
			continue
		}
		r.progress(c.Name)
		result, err := r.contest(c, dir)
		if err != nil {
			return results, fmt.Errorf("%s: %w", c.Name, err)
		}
		results = append(results, result)
		if r.Done != nil {
			r.Done(&result)
		}
	}
	return results, nil
}

func matches(only *regexp.Regexp, name string) bool { return only == nil || only.MatchString(name) }

func (r *Runner) progress(what string) {
	if r.Progress != nil {
		r.Progress(what)
	}
}

// contest runs a round that does not count, to warm up, and then all others.
// Each begins with another entrant.
func (r *Runner) contest(c Contest, dir string) (Result, error) {
	result := Result{Contest: c, Rates: make([][]float64, len(c.Entrants)), Allocs: make([][]float64, len(c.Entrants))}
	if c.Procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Procs))
	}
	for round := range r.Rounds + 1 {
		cost, err := Fsync(dir)
		if err != nil {
			return result, err
		}
		if round > 0 {
			result.Fsync = append(result.Fsync, cost)
		}
		for i := range c.Entrants {
			i = (i + round) % len(c.Entrants)
			rate, allocs, err := r.turn(&c, i)
			if err != nil {
				return result, err
			}
			if round > 0 {
				result.Rates[i] = append(result.Rates[i], rate)
				result.Allocs[i] = append(result.Allocs[i], allocs)
			}
		}
	}
	if c.Note != nil {
		result.Said = c.Note()
	}
	return result, nil
}

// turn runs a round of an entrant and returns its operations a second, and the
// allocations of each.
func (r *Runner) turn(c *Contest, entrant int) (rate, allocs float64, err error) {
	e := &c.Entrants[entrant]
	span := r.Span
	if !e.Elastic {
		span = 0
	}
	var before, after runtime.MemStats
	ops, took, err := e.Round(e.Ops, span, func() func() {
		runtime.ReadMemStats(&before)
		end := func() {}
		if r.Turn != nil {
			end = r.Turn(c, entrant)
		}
		return func() {
			end()
			runtime.ReadMemStats(&after)
		}
	})
	things := float64(ops * max(c.Each, 1))
	return things / took.Seconds(), float64(after.Mallocs-before.Mallocs) / things, err
}
