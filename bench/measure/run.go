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

// Result has the measurements of a contest.
type Result struct {
	Contest
	Rates  [][]float64     // of each entrant, operations a second, by round
	Allocs [][]float64     // of each entrant, allocations an operation, by round
	Fsync  []time.Duration // the cost of a sync between the rounds
	Said   string          // what the contest's Note said
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
			rate, allocs, err := r.runTurn(&c, i)
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

// runTurn runs a round of an entrant, and returns its operations a second and the allocations
// of each.
func (r *Runner) runTurn(c *Contest, entrant int) (rate, allocs float64, err error) {
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

// Ratio returns how many times the rate of entrant i the first entrant made, by
// their medians, and the lowest and highest ratio of any one round.
func (r *Result) Ratio(i int) (ratio, low, high float64) {
	ours, theirs := r.Rates[0], r.Rates[i]
	for n := range ours {
		one := ours[n] / theirs[n]
		if n == 0 {
			low, high = one, one
		}
		low, high = min(low, one), max(high, one)
	}
	return Median(ours) / Median(theirs), low, high
}

// Rows returns the comparisons of a result.
func (r *Result) Rows() []Row {
	ours := Median(r.Rates[0])
	var rows []Row
	add := func(peer string, theirs, ratio, low, high, least float64) {
		rows = append(rows, Row{
			Contest: r.Name, About: r.About, Name: r.Entrants[0].Name, Peer: peer,
			Ours: r.formatRate(ours), Theirs: r.formatRate(theirs),
			Ratio: ratio, Low: low, High: high, Least: least, Latency: r.Latency,
		})
	}
	for i, e := range r.Entrants[1:] {
		ratio, low, high := r.Ratio(i + 1)
		add(e.Name, Median(r.Rates[i+1]), ratio, low, high, e.Least)
	}
	for _, f := range r.Fixed {
		ratio := ours / f.Rate
		add(f.Name, f.Rate, ratio, ratio, ratio, f.Least)
	}
	return rows
}

// formatRate formats a rate in the contest's unit.
func (r *Result) formatRate(rate float64) string {
	if r.Latency {
		return Duration(1 / rate)
	}
	return Count(rate) + "/s"
}
