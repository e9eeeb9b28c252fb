// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/bench/measure"
)

// Report returns a section in Markdown: the machine, the budgets, and the time
// of every entrant.
func Report(results []measure.Result, rounds int) string {
	var b strings.Builder
	met, all := 0, 0
	for i := range results {
		for _, row := range results[i].Rows() {
			if row.Least == 0 {
				continue
			}
			if all++; row.Met() {
				met++
			}
		}
	}
	fmt.Fprintf(&b, "%s, medians of %d interleaved rounds. %d of %d budgets met.\n\n", measure.Machine(), rounds, met, all)
	b.WriteString(budgets(results))
	b.WriteString("\n")
	for i := range results {
		b.WriteString(times(&results[i]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// budgets is the table of all comparisons that have one.
func budgets(results []measure.Result) string {
	var b strings.Builder
	b.WriteString("| what | here | beside | | ratio (of single rounds) | budget | |\n|---|---|---|---|---|---|---|\n")
	for i := range results {
		for _, row := range results[i].Rows() {
			if row.Least > 0 {
				b.WriteString(row.String() + "\n")
			}
		}
	}
	return b.String()
}

// times is the table of a contest's entrants.
func times(r *measure.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s (`%s`):\n\n| | time each | allocations each |\n|---|---|---|\n", strings.ToUpper(r.About[:1]), r.About[1:], r.Name)
	for i, e := range r.Entrants {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Name, measure.Duration(1/measure.Median(r.Rates[i])), allocations(measure.Median(r.Allocs[i])))
	}
	if r.Said != "" {
		b.WriteString("\n" + r.Said + "\n")
	}
	return b.String() + "\n"
}

// allocations formats a count; those of starting the round do not show.
func allocations(n float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") }
