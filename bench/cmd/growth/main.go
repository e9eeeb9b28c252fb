// SPDX-License-Identifier: Apache-2.0

// Command growth measures and draws how the costs of the engine and of Pebble grow
// with their data.
//
//	go run ./cmd/growth                       # 10,000 to 10,000,000 records, some ten minutes
//	go run ./cmd/growth -most 100000
//	go run ./cmd/growth -svg ../docs/growth.svg -write ../docs/benchmarks.md
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/bench/budgets"
	"github.com/kazahana-db/kazahana/bench/chart"
	"github.com/kazahana-db/kazahana/bench/measure"
)

func main() {
	var (
		most   = flag.Int("most", 10_000_000, "`records` at the end; it begins with 10,000")
		rounds = flag.Int("rounds", 7, "rounds of each measurement but the load")
		dir    = flag.String("dir", "", "`folder` for the stores; its disk is what is measured")
		svg    = flag.String("svg", "", "`file` for the chart")
		write  = flag.String("write", "", "`file` in which to put the table")
	)
	flag.Parse()
	if err := grow(*most, *rounds, *dir, *svg, *write); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// sizeResults are the results with a number of records.
type sizeResults struct {
	records int
	results []measure.Result
}

func grow(most, rounds int, dir, svg, write string) error {
	begin := time.Now()
	var all []sizeResults
	for n := 10_000; n <= most; n *= 10 {
		r := measure.Runner{Rounds: rounds, Span: time.Second / 2, Dir: dir, Progress: func(what string) {
			fmt.Fprintf(os.Stderr, "%6.1fs %9d %s\n", time.Since(begin).Seconds(), n, what)
		}}
		results, err := r.Run([]measure.Stage{budgets.Growth(n)})
		if err != nil {
			return err
		}
		all = append(all, sizeResults{n, results})
		fmt.Fprint(os.Stderr, table(all))
	}
	report := fmt.Sprintf("%s, medians of %d interleaved rounds (loads: one).\n\n%s", measure.Machine(), rounds, table(all))
	fmt.Print(report)
	if svg != "" {
		drawing := draw(all, rounds)
		if err := os.WriteFile(svg, []byte(drawing.SVG()), 0o644); err != nil {
			return err
		}
	}
	if write == "" {
		return nil
	}
	return measure.WriteSection(write, "growth", report)
}

// kinds are the columns of the table and the lines of the chart.
var kinds = []struct{ contest, name, color string }{
	{budgets.GrowthGet, "get", "#0b62b8"},
	{budgets.GrowthScan, "scan of 100", "#b8560b"},
	{budgets.GrowthCommit, "durable commit", "#2a8a3c"},
	{budgets.GrowthLoad, "load", "#8a2a7e"},
	{budgets.GrowthResolve, "commit, not synced", "#777777"},
}

// rate returns the median rate of an entrant, false if it has none.
func (m sizeResults) rate(contest string, entrant int) (float64, bool) {
	for _, r := range m.results {
		if r.Name == contest && entrant < len(r.Rates) {
			return measure.Median(r.Rates[entrant]), true
		}
	}
	return 0, false
}

func table(all []sizeResults) string {
	var b strings.Builder
	b.WriteString("| records |")
	for _, kind := range kinds {
		fmt.Fprintf(&b, " %s: engine, Pebble |", kind.name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(kinds)) + "\n")
	for _, m := range all {
		fmt.Fprintf(&b, "| %s |", measure.Count(float64(m.records)))
		for _, kind := range kinds {
			var cells []string
			for entrant := range 2 {
				if rate, ok := m.rate(kind.contest, entrant); ok {
					cells = append(cells, measure.Count(rate)+"/s")
				}
			}
			fmt.Fprintf(&b, " %s |", strings.Join(cells, ", "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func draw(all []sizeResults, rounds int) chart.Chart {
	c := chart.Chart{
		Title:    "How cost grows with the data",
		Subtitle: fmt.Sprintf("64 goroutines (loads and commits that are not synced: one), medians of %d; solid: the engine, dashed: Pebble", rounds),
		X:        "records", Y: "operations a second",
	}
	for _, kind := range kinds {
		for entrant, name := range []string{kind.name, kind.name + ", Pebble"} {
			line := chart.Line{Name: name, Color: kind.color, Dashed: entrant > 0}
			for _, m := range all {
				if rate, ok := m.rate(kind.contest, entrant); ok {
					line.Points = append(line.Points, chart.Point{X: float64(m.records), Y: rate})
				}
			}
			if len(line.Points) > 0 {
				c.Lines = append(c.Lines, line)
			}
		}
	}
	return c
}
