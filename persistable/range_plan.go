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
	// Keys and Bytes are how many keys the range has, and the size of these and their
	// values: entries of an index, or records and their further chunks, whatever the
	// query's limit and filter. Exact says that they were counted, because the range is
	// small. Otherwise Bytes is the estimate of the engine, which is rough below some
	// megabytes, and Keys follows from it by the mean size of the range's first pairs;
	// both are at least those of the pairs that were read.
	Keys, Bytes int64
	Exact       bool
}

// String returns the range in one line.
func (r *RangePlan) String() string {
	return r.plan() + "; " + keysText(r.Keys, r.Exact)
}

func keysText(n int64, exact bool) string {
	switch {
	case exact && n == 1:
		return "1 key"
	case exact:
		return fmt.Sprintf("%d keys", n)
	}
	return fmt.Sprintf("about %d keys", n)
}

// plan returns the range without the estimate.
func (r *RangePlan) plan() string {
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
