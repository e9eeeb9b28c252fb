// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"fmt"
	"strings"
)

// RangePlan is one range that a query reads. In a transaction that writes, the
// query conflicts with changes of the keys within it, as far as it has read, and of the
// records that it has fetched.
type RangePlan struct {
	Index  string   // its name; "" for the records themselves
	Bounds []string // what the keys in the range say, as "Status=1"; nil: the whole index
	// Filter is what each record is looked at for, in memory: alternatives of
	// conditions, each as "Status=1 and Amount>=20"; nil: nothing.
	Filter []string
	Shards int  // 0: not scattered
	Fetch  bool // the records are fetched, one get for each entry
	// Bytes is what the engine estimates that the keys and values in the range have.
	// Below some megabytes the estimate of a cluster is rough, and may be 0.
	Bytes int64
}

// String returns the range in one line, without the estimate.
func (r *RangePlan) String() string {
	text := "records"
	if r.Index != "" {
		text = "index " + r.Index
	}
	if len(r.Bounds) > 0 {
		text += ": " + strings.Join(r.Bounds, ", ")
	}
	if r.Filter != nil {
		text += "; filter: " + strings.Join(r.Filter, " or ")
	}
	if r.Shards > 0 {
		text += fmt.Sprintf("; %d shards", r.Shards)
	}
	if r.Fetch {
		text += "; fetches records"
	}
	return text
}
