// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"errors"
	"fmt"
)

// ErrTooManyAlternatives says that the conditions given to Find have more than 256
// alternatives, each combination of those of [Or] and [Field.In] being one.
var ErrTooManyAlternatives = errors.New("persistable: the conditions have more than 256 alternatives: ask in several queries")

// DefaultFilterLimit is how many records a query may look at to leave some out, unless
// [Query.FilterLimit] says otherwise.
const DefaultFilterLimit = 10_000

// FilterLimitError says that a query which filters records in memory has looked at as many
// as its FilterLimit allows. What it has yielded before is right.
type FilterLimitError struct {
	Type string
	Keys int    // how many records it has looked at
	Tag  string // the marker of an index that serves the query without a filter; empty if it is unknown
}

// Error implements error.
func (e *FilterLimitError) Error() string {
	text := fmt.Sprintf("persistable: %s: the query has looked at %d records and leaves some out in memory", e.Type, e.Keys)
	if e.Tag != "" {
		text += ": add the index " + e.Tag + ", or"
	} else {
		text += ":"
	}
	return text + " raise the query's FilterLimit"
}
