// SPDX-License-Identifier: Apache-2.0

package format

import "time"

// Reset says when an auto-increment part begins at 1 again.
type Reset string

// Resets.
const (
	ResetNever Reset = "none"
	ResetYear  Reset = "year"
	ResetMonth Reset = "month"
	ResetDate  Reset = "date"
)

// layouts are the layouts of package time for the names of periods.
var layouts = map[Reset]string{ResetNever: "", ResetYear: "2006", ResetMonth: "2006-01", ResetDate: "2006-01-02"}

// ResetOf returns the Reset that makes periods with names of the form of one: that of
// Reset.Period; [ResetNever] for other texts.
func ResetOf(period string) Reset {
	for r, layout := range layouts {
		if _, err := time.Parse(layout, period); err == nil {
			return r
		}
	}
	return ResetNever
}

// Before returns the name of the period before one; "" if that is not the name of a period, and
// for ResetNever.
func (r Reset) Before(period string) string {
	t, err := time.Parse(layouts[r], period)
	if err != nil {
		return ""
	}
	return r.Period(t.AddDate(0, 0, -1)) // a period begins with its first day
}

// Period returns the name of the period of t: "2026", "2026-11" or
// "2026-11-22"; "" for ResetNever. Each period has a counter of its own: if the clock
// is set back to an earlier period, that period's counter goes on.
func (r Reset) Period(t time.Time) string { return t.Format(layouts[r]) }
