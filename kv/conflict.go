// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"fmt"
	"strings"
)

// NewConflictError returns the error of a commit that failed because others
// wrote to what the transaction read. Engines call it with the conflicting
// ranges where the transaction asked for them, in order and merged.
func NewConflictError(conflicts []KeyRange) *Error {
	e := NewError(CodeNotCommitted, "something that the transaction read was written since")
	if len(conflicts) > 0 {
		e.Detail += ": " + describeRanges(conflicts)
		e.Conflicts = conflicts
	}
	return e
}

// mostDescribed is how many ranges an error's text tells.
const mostDescribed = 3

func describeRanges(ranges []KeyRange) string {
	var b strings.Builder
	for i, r := range ranges[:min(len(ranges), mostDescribed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		if string(r.End) == string(r.Begin)+"\x00" {
			fmt.Fprintf(&b, "key %s", quoteKey(r.Begin))
		} else {
			fmt.Fprintf(&b, "keys from %s to %s", quoteKey(r.Begin), quoteKey(r.End))
		}
	}
	if more := len(ranges) - mostDescribed; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// quoteKey quotes the first bytes of a key, which may be long.
func quoteKey(key []byte) string {
	const most = 64
	if len(key) > most {
		return fmt.Sprintf("%q…", key[:most])
	}
	return fmt.Sprintf("%q", key)
}
