// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"strings"
)

// ReportTimes returns a section in Markdown: the machine, the budgets, and the time
// of every entrant.
func ReportTimes(results []Result, rounds int) string {
	var b strings.Builder
	met, all := countMet(results)
	fmt.Fprintf(&b, "%s, medians of %d interleaved rounds. %d of %d budgets met.\n\n", Machine(), rounds, met, all)
	b.WriteString(budgets(results))
	b.WriteString("\n")
	for i := range results {
		b.WriteString(times(&results[i]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// budgets is the table of all comparisons that have one.
func budgets(results []Result) string {
	var b strings.Builder
	b.WriteString("| what | here | compared with | | ratio (of single rounds) | budget | |\n|---|---|---|---|---|---|---|\n")
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
func times(r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s (`%s`):\n\n| | time each | allocations each |\n|---|---|---|\n", strings.ToUpper(r.About[:1]), r.About[1:], r.Name)
	for i, e := range r.Entrants {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Name, Duration(1/Median(r.Rates[i])), allocations(Median(r.Allocs[i])))
	}
	if r.Said != "" {
		b.WriteString("\n" + r.Said + "\n")
	}
	return b.String() + "\n"
}

// allocations formats a count. One decimal hides the allocations of starting the round.
func allocations(n float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") }
