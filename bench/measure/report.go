// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"math"
)

// Row is one comparison of a result: of the first entrant with another, or
// with a fixed rate.
type Row struct {
	Contest, About   string
	Name, Peer       string
	Ours, Theirs     string // with their units
	Ratio, Low, High float64
	Least            float64 // 0: no budget
	Latency          bool
}

// Met reports whether the budget, if there is one, was met.
func (r Row) Met() bool { return r.Least == 0 || r.Ratio >= r.Least }

// Verdict is "pass", "MISS", or "" if there is no budget.
func (r Row) Verdict() string {
	switch {
	case r.Least == 0:
		return ""
	case r.Met():
		return "pass"
	}
	return "MISS"
}

// Count formats a number with three significant digits.
func Count(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, " M"}, {1e3, " k"}} {
		if n >= unit.size {
			return digits(n/unit.size) + unit.name
		}
	}
	return digits(n)
}

func digits(n float64) string {
	if n < 0.1 {
		return fmt.Sprintf("%.2g", n)
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(max(n, 1))))), n)
}

// Duration formats seconds with three significant digits.
func Duration(seconds float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e-6, " ns"}, {1e-3, " µs"}, {1, " ms"}} {
		if seconds < unit.size {
			return digits(seconds/unit.size*1e3) + unit.name
		}
	}
	return digits(seconds) + " s"
}

// String returns the row of the table.
func (r Row) String() string {
	return fmt.Sprintf("| %s (`%s`) | %s | %s | %s | %s | %s | %s |", r.About, r.Contest,
		r.Ours, r.Peer, r.Theirs, r.formatRatios(), r.formatBudget(), r.Verdict())
}

// formatRatios formats the ratio of the row and the range of the ratios of single rounds: of
// rates, or of times if the contest is about latency.
func (r Row) formatRatios() string {
	if r.Latency {
		return fmt.Sprintf("**%s ×** the time (%s–%s)", digits(1/r.Ratio), digits(1/r.High), digits(1/r.Low))
	}
	return fmt.Sprintf("**%s ×** (%s–%s)", digits(r.Ratio), digits(r.Low), digits(r.High))
}

func (r Row) formatBudget() string {
	switch {
	case r.Least == 0:
		return ""
	case r.Latency:
		return fmt.Sprintf("≤ %.3g ×", 1/r.Least)
	}
	return fmt.Sprintf("≥ %.3g ×", r.Least)
}

// formatBudgetOf formats the budget, which only the first form has.
func (r Row) formatBudgetOf(form int) string {
	switch {
	case form > 0 || r.Least == 0:
		return ""
	case r.Met():
		return "; " + r.formatBudget()
	}
	return "; " + r.formatBudget() + " **" + r.Verdict() + "**"
}
