// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"fmt"
	"os"
	"regexp"
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
	Rates [][]float64     // of each entrant, operations a second, by round
	Fsync []time.Duration // what a sync cost between the rounds
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
	result := Result{Contest: c, Rates: make([][]float64, len(c.Entrants))}
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
			rate, err := r.turn(&c, i)
			if err != nil {
				return result, err
			}
			if round > 0 {
				result.Rates[i] = append(result.Rates[i], rate)
			}
		}
	}
	return result, nil
}

// turn runs a round of an entrant and returns its operations a second.
func (r *Runner) turn(c *Contest, entrant int) (rate float64, err error) {
	e := &c.Entrants[entrant]
	span := r.Span
	if !e.Elastic {
		span = 0
	}
	var turn func() func()
	if r.Turn != nil {
		turn = func() func() { return r.Turn(c, entrant) }
	}
	ops, took, err := e.Round(e.Ops, span, turn)
	return float64(ops) / took.Seconds(), err
}
