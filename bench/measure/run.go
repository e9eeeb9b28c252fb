// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Runner runs stages.
type Runner struct {
	Rounds   int            // of each contest; the medians are of so many
	Span     time.Duration  // how long the rounds of elastic entrants take
	Dir      string         // where stages put their files
	Stages   *regexp.Regexp // names of the stages to run; nil: all
	Contests *regexp.Regexp // names of the contests to run; nil: all
	Progress func(string)   // called with what is being run; may be nil
	Done     func(*Result)  // called with each result; may be nil

	// Turn, if not nil, is called when an entrant begins a round, and its result when the round
	// is over: for a profiler.
	Turn func(c *Contest, entrant int) (end func())
}

// Run runs the chosen contests of the stages, one after the other. If no stage or no contest
// is chosen, the error lists their names.
func (r *Runner) Run(stages []Stage) ([]Result, error) {
	var all []Result
	var names []string // of all contests of the stages that are asked for
	chosen := slices.DeleteFunc(slices.Clone(stages), func(s Stage) bool { return !matches(r.Stages, s.Name) })
	if len(chosen) == 0 {
		for _, stage := range stages {
			names = append(names, stage.Name)
		}
		return nil, fmt.Errorf("no stage is named like %q: there are %s", r.Stages, strings.Join(names, ", "))
	}
	for _, stage := range chosen {
		results, contests, err := r.runStage(stage)
		all, names = append(all, results...), append(names, contests...)
		if err != nil {
			return all, fmt.Errorf("%s: %w", stage.Name, err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no contest is named like %q: there are %s", r.Contests, strings.Join(names, ", "))
	}
	return all, nil
}

// runStage runs the chosen contests of a stage. It also returns the names of all its contests.
func (r *Runner) runStage(stage Stage) (results []Result, names []string, err error) {
	dir, err := os.MkdirTemp(r.Dir, "bench-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r.reportProgress(stage.Name + ": opening")
	set, err := stage.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	for _, measured := range set.Measured {
		names = append(names, measured.Name)
		if matches(r.Contests, measured.Name) {
			results = append(results, measured)
		}
	}
	for _, c := range set.Contests {
		names = append(names, c.Name)
		if !matches(r.Contests, c.Name) {
			continue
		}
		r.reportProgress(c.Name)
		result, err := r.runContest(c, dir)
		result.Section = stage.section()
		if err != nil {
			return results, names, fmt.Errorf("%s: %w", c.Name, err)
		}
		results = append(results, result)
		if r.Done != nil {
			r.Done(&result)
		}
	}
	return results, names, nil
}

func matches(only *regexp.Regexp, name string) bool { return only == nil || only.MatchString(name) }

func (r *Runner) reportProgress(what string) {
	if r.Progress != nil {
		r.Progress(what)
	}
}

// runContest runs a round to warm up, which does not count, and then all others, each
// beginning with another entrant.
func (r *Runner) runContest(c Contest, dir string) (Result, error) {
	result := newResult(c)
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
			t, err := r.runTurn(&c, i)
			if err != nil {
				return result, err
			}
			if round > 0 {
				result.add(i, t)
			}
		}
	}
	if c.Note != nil {
		result.Said = c.Note()
	}
	return result, nil
}

// turn is what was measured in a round of an entrant.
type turn struct {
	rate      float64 // operations a second
	allocs    float64 // of an operation
	processor float64 // of an operation, in seconds
	times     *Histogram
}

// runTurn runs a round of an entrant.
func (r *Runner) runTurn(c *Contest, entrant int) (t turn, err error) {
	e := c.Entrants[entrant]
	if c.Times {
		t.times = &Histogram{}
		e.times, e.every = t.times, 16 // reading the clock costs a tenth of a fast operation
		if c.Durable {
			e.every = 1
		}
	}
	span := r.Span
	if !e.Elastic {
		span = 0
	}
	var before, after runtime.MemStats
	var processor time.Duration
	ops, took, err := e.Round(e.Ops, span, func() func() {
		runtime.ReadMemStats(&before)
		end := func() {}
		if r.Turn != nil {
			end = r.Turn(c, entrant)
		}
		processor = -ProcessorTime()
		return func() {
			processor += ProcessorTime()
			end()
			runtime.ReadMemStats(&after)
		}
	})
	things := float64(ops * max(c.Each, 1))
	t.rate, t.allocs, t.processor = things/took.Seconds(), float64(after.Mallocs-before.Mallocs)/things, processor.Seconds()/things
	return t, err
}
