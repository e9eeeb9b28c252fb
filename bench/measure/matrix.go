// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"slices"
	"strings"
)

// matrix is a table with a line for each contest and for each form of its first entrant, and a
// column for each peer.
type matrix struct {
	corner string
	has    func(r *Result) bool                // whether a contest has a line
	here   func(r *Result, form int) string    // a cell of an entrant
	peer   func(r *Result, form, i int) string // a cell of a form and another entrant
	fixed  func(r *Result, f FixedRate) string // a cell of the first entrant and a fixed rate
}

func (m *matrix) format(results []Result) string {
	results = slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return !m.has(&r) })
	if len(results) == 0 {
		return ""
	}
	peers := peersOf(results)
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | here | %s |\n|---|%s\n", m.corner, strings.Join(peers, " | "), strings.Repeat("---|", len(peers)+1))
	for i := range results {
		for form, e := range results[i].Entrants {
			if form == 0 || e.Form != "" {
				fmt.Fprintf(&b, "| %s |\n", strings.Join(m.line(&results[i], form, peers), " | "))
			}
		}
	}
	return b.String()
}

// line returns the cells of a form.
func (m *matrix) line(r *Result, form int, peers []string) []string {
	what := fmt.Sprintf("%s (`%s`)", r.About, r.Name)
	if form > 0 {
		what = "– " + r.Entrants[form].Form
	}
	cells := append([]string{what, m.here(r, form)}, make([]string, len(peers))...)
	for i, e := range r.Entrants {
		if i > 0 && e.Form == "" {
			cells[2+slices.Index(peers, e.Name)] = m.peer(r, form, i)
		}
	}
	for _, f := range r.Fixed {
		if form == 0 {
			cells[2+slices.Index(peers, f.Name)] = m.fixed(r, f)
		}
	}
	return cells
}

// peersOf returns the names of all entrants and fixed rates that others are compared with.
func peersOf(results []Result) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range results {
		for j, e := range results[i].Entrants {
			if j > 0 && e.Form == "" {
				add(e.Name)
			}
		}
		for _, f := range results[i].Fixed {
			add(f.Name)
		}
	}
	return names
}

// comparisons are rates, their ratios, and the ratios of processor time.
var comparisons = matrix{
	corner: "what",
	has:    func(*Result) bool { return true },
	here: func(r *Result, form int) string {
		rate := r.formatRate(Median(r.Rates[form]))
		if cost := r.cost(form); cost > 0 {
			rate += ", CPU " + Duration(cost)
		}
		return rate
	},
	peer: func(r *Result, form, i int) string {
		row := r.row(form, i)
		cell := row.formatRatios()
		if form > 0 {
			cell = fmt.Sprintf("**%s ×**", digits(row.Ratio)) // of the first form, the range says enough
		}
		if ours, theirs := r.cost(form), r.cost(i); ours > 0 && theirs > 0 {
			cell += fmt.Sprintf(", CPU %s ×", digits(theirs/ours))
		}
		return cell + row.formatBudgetOf(form)
	},
	fixed: func(r *Result, f FixedRate) string {
		row := r.fixedRow(f)
		return fmt.Sprintf("**%s ×**", digits(row.Ratio)) + row.formatBudgetOf(0)
	},
}

// latencies are the times of operations.
var latencies = matrix{
	corner: "one operation takes, p50 / p99",
	has:    func(r *Result) bool { return r.Quantiles != nil },
	here:   func(r *Result, form int) string { return r.formatQuantiles(form) },
	peer: func(r *Result, form, i int) string {
		if form > 0 {
			return "" // the line of the first form has it
		}
		return r.formatQuantiles(i)
	},
	fixed: func(*Result, FixedRate) string { return "" },
}
