// SPDX-License-Identifier: Apache-2.0

// Command budgets measures the embedded engine against its budgets, and prints
// which of them it meets.
//
//	go run ./cmd/budgets                         # everything, about a quarter of an hour
//	go run ./cmd/budgets -run commit             # one stage
//	go run ./cmd/budgets -run settled/get-1$     # one contest of it
//	go run ./cmd/budgets -profile /tmp/profiles  # with a CPU profile of each contest
//	go run ./cmd/budgets -footprint              # memory and disk, each store in a process of its own; four minutes
//	go run ./cmd/budgets -footprint -run '^(idle|updates)$/^engine$' -updates 10m
//	go run ./cmd/budgets -run "^(commit|settled|recent|counter|trap)" -write ../docs/benchmarks.md
//	go run ./cmd/budgets -run "^(record|bulk)" -section records -write ../docs/benchmarks.md
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/bench/budgets"
	"github.com/kazahana-db/kazahana/bench/measure"
)

func main() {
	var (
		run     = flag.String("run", "", "`stage[/contest]`: regular expressions of what to run")
		rounds  = flag.Int("rounds", 7, "rounds of each contest")
		dir     = flag.String("dir", "", "`folder` for the stores; its disk is what is measured")
		profile = flag.String("profile", "", "`folder` for CPU profiles of the engine's rounds")
		bulk    = flag.Int("bulk", 1_000_000, "`records` of the bulk load")
		section = flag.String("section", "budgets", "`section` of the file for the report")
		write   = flag.String("write", "", "`file` in which to put the report")
	)
	var f footprints
	f.addFlags()
	flag.Parse()
	if f.asked() {
		if err := f.measure(*run, *dir, *section, *write); err != nil {
			fmt.Fprintln(os.Stderr, "budgets:", err)
			os.Exit(1)
		}
		return
	}
	if err := measureAll(*run, *rounds, *bulk, *dir, *profile, *section, *write); err != nil {
		fmt.Fprintln(os.Stderr, "budgets:", err)
		os.Exit(1)
	}
}

func measureAll(run string, rounds, bulk int, dir, profile, section, write string) error {
	begin := time.Now()
	r := measure.Runner{Rounds: rounds, Span: 400 * time.Millisecond, Dir: dir, Progress: func(what string) {
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
	results, err := r.Run(append(budgets.Stages(), budgets.Bulk(bulk)))
	report := measure.Report(results, rounds)
	if len(results) > 0 {
		fmt.Print(report)
	}
	if err != nil || write == "" {
		return err
	}
	return measure.WriteSection(write, section, report)
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
