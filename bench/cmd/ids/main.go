// SPDX-License-Identifier: Apache-2.0

// Command ids measures generators of IDs against their budgets and against
// others, and prints what it found.
//
//	go run ./cmd/ids                       # everything, some two minutes
//	go run ./cmd/ids -run next/next-4      # one contest
//	go run ./cmd/ids -write ../docs/benchmarks.md
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/bench/ids"
	"github.com/kazahana-db/kazahana/bench/measure"
)

func main() {
	var (
		run    = flag.String("run", "", "`stage[/contest]`: regular expressions of what to run")
		rounds = flag.Int("rounds", 7, "rounds of each contest")
		span   = flag.Duration("span", 200*time.Millisecond, "length of a round")
		dir    = flag.String("dir", "", "`folder` for the stores of leases; its disk is what is measured")
		write  = flag.String("write", "", "`file` in which to put the report")
	)
	flag.Parse()
	if err := measureAll(*run, *rounds, *span, *dir, *write); err != nil {
		fmt.Fprintln(os.Stderr, "ids:", err)
		os.Exit(1)
	}
}

func measureAll(run string, rounds int, span time.Duration, dir, write string) (err error) {
	begin := time.Now()
	r := measure.Runner{Rounds: rounds, Span: span, Dir: dir, Progress: func(what string) {
		fmt.Fprintf(os.Stderr, "%6.1fs %s\n", time.Since(begin).Seconds(), what)
	}}
	stage, contest, _ := strings.Cut(run, "/")
	if r.Stages, err = regexp.Compile(stage); err != nil {
		return err
	}
	if r.Contests, err = regexp.Compile(contest); err != nil {
		return err
	}
	results, err := r.Run(ids.Stages())
	report := ids.Report(results, rounds)
	if len(results) > 0 {
		fmt.Print(report)
	}
	if err != nil || write == "" {
		return err
	}
	return measure.WriteSection(write, "ids", report)
}
