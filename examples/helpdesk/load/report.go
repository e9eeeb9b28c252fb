// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Figures are how long the requests of one kind took.
type Figures struct {
	N           int
	Median, P99 time.Duration
}

// Report is what a run has found. A run with an error has found a fault.
type Report struct {
	Tenants  int
	Requests int
	Tickets  int           // that were acknowledged
	Verified bool          // the tickets are there, and agree with their index entries
	Retries  int           // requests that were answered with 503, and sent again
	Records  int           // that the verification has read
	Time     time.Duration // of the requests, without the comparison at the end
	ByName   map[string]Figures
}

// String is a table.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tenants, %d requests in %s: %.0f a second; %d answered with 503\n",
		r.Tenants, r.Requests, r.Time.Round(time.Millisecond), float64(r.Requests)/r.Time.Seconds(), r.Retries)
	if r.Verified {
		fmt.Fprintf(&b, "each tenant has exactly its tickets: %d; %d records verified with their index entries\n", r.Tickets, r.Records)
	}
	for _, name := range slices.Sorted(maps.Keys(r.ByName)) {
		f := r.ByName[name]
		fmt.Fprintf(&b, "%-12s %7d   median %8s   99 %% %8s\n", name, f.N, f.Median.Round(10*time.Microsecond), f.P99.Round(10*time.Microsecond))
	}
	return b.String()
}
