// SPDX-License-Identifier: Apache-2.0

// Command budgets measures the embedded engine against its budgets, and prints
// which of them it meets.
//
//	go run ./cmd/budgets                         # every contest, about ten minutes
//	go run ./cmd/budgets -run commit             # one stage
//	go run ./cmd/budgets -run settled/get-1$     # one contest of it
//	go run ./cmd/budgets -profile /tmp/profiles  # with a CPU profile of each contest
//	go run ./cmd/budgets -footprint              # memory and disk, each store in a process of its own; four minutes
//	go run ./cmd/budgets -footprint -run '^(idle|updates)$/^engine, as it comes$' -updates 10m
//	go run ./cmd/budgets -write ../docs/benchmarks.md
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/bench/budgets"
	"github.com/kazahana-db/kazahana/bench/measure"
)

func main() {
	var (
		run     = flag.String("run", "", "`stage[/contest]`: regular expressions of what to run")
		rounds  = flag.Int("rounds", 5, "rounds of each contest")
		span    = flag.Duration("span", 200*time.Millisecond, "`length` of a round")
		dir     = flag.String("dir", "", "`folder` for the stores; its disk is what is measured")
		profile = flag.String("profile", "", "`folder` for CPU profiles of the engine's rounds")
		write   = flag.String("write", "", "`file` in which to put the tables, each in its section as far as it was run")
	)
	var f footprints
	f.addFlags()
	flag.Parse()
	if f.asked() {
		if err := f.measure(*run, *dir, *write); err != nil {
			fmt.Fprintln(os.Stderr, "budgets:", err)
			os.Exit(1)
		}
		return
	}
	if err := measureAll(*run, *rounds, *span, *dir, *profile, *write); err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
}

func measureAll(run string, rounds int, span time.Duration, dir, profile, write string) error {
	begin := time.Now()
	r := measure.Runner{Rounds: rounds, Span: span, Dir: dir, Progress: func(what string) {
		fmt.Fprintf(os.Stderr, "%6.1fs %s\n", time.Since(begin).Seconds(), what)
	}}
	r.Done = func(result *measure.Result) {
		for _, row := range result.Rows() {
			fmt.Fprintln(os.Stderr, row)
		}
	}
	if err := choose(&r, run); err != nil {
		return err
	}
	if profile != "" {
		profiler := measure.Profiler{Dir: profile}
		r.Turn = profiler.Turn
	}
	results, err := r.Run(budgets.Stages())
	for len(results) > 0 {
		section := results[0].Section
		some := slices.IndexFunc(results, func(r measure.Result) bool { return r.Section != section })
		if some < 0 {
			some = len(results)
		}
		report := measure.Report(results[:some], rounds)
		fmt.Printf("## %s\n\n%s\n", section, report)
		if err == nil && write != "" {
			err = measure.WriteSection(write, section, report)
		}
		results = results[some:]
	}
	return err
}

// choose sets which stages and contests the runner runs.
func choose(r *measure.Runner, run string) (err error) {
	stage, contest, _ := strings.Cut(run, "/")
	if r.Stages, err = regexp.Compile(stage); err != nil {
		return err
	}
	r.Contests, err = regexp.Compile(contest)
	return err
}
