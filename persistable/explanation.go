// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"strings"
)

// Explanation tells how a query reads: see [Query.Explain].
type Explanation struct {
	Type string
	// Form is how the ranges are read: "one range", "an intersection", "lanes, merged"
	// or "lanes, one after the other".
	Form   string
	Ranges []RangePlan
	// OrderedBy names the fields behind those with equality, then "id"; it is empty
	// for lanes that come one after the other.
	OrderedBy []string
	Reverse   bool
	Limit     int // 0: no limit
	// FilterLimit is how many records the query may look at if it leaves some out in
	// memory; 0 if it leaves out none, or if there is no limit.
	FilterLimit int
	// Rounds is how many rounds of reads the first batch takes, besides those that
	// open a store that the process does not know yet.
	Rounds int
	// Keys and Bytes are the sums of those of the ranges, Exact if all were counted.
	Keys, Bytes int64
	Exact       bool
}

// String returns the plan with the estimated keys, in a line for each range.
func (e *Explanation) String() string {
	return e.text("; "+keysText(e.Keys, e.Exact), (*RangePlan).String)
}

// Plan returns the text without the estimates, so that it is the same for the same plan.
func (e *Explanation) Plan() string { return e.text("", (*RangePlan).plan) }

func (e *Explanation) text(keys string, textOf func(*RangePlan) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Type, e.Form)
	if len(e.OrderedBy) > 0 {
		fmt.Fprintf(&b, ", ordered by %s", strings.Join(e.OrderedBy, ", "))
	}
	if e.Reverse {
		b.WriteString(", in reverse")
	}
	if e.Limit > 0 {
		fmt.Fprintf(&b, ", at most %d records", e.Limit)
	}
	fmt.Fprintf(&b, "; rounds: %d", e.Rounds)
	if e.FilterLimit > 0 {
		fmt.Fprintf(&b, "; looks at %d records at most", e.FilterLimit)
	}
	b.WriteString(keys)
	for i := range e.Ranges {
		b.WriteString("\n  " + textOf(&e.Ranges[i]))
	}
	return b.String()
}
