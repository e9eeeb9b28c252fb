// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"fmt"
	"strings"
)

// NewConflictError returns the error of a commit that failed because other
// transactions wrote to what it read. Engines pass the conflicting ranges, in order
// and merged, if the transaction has [OptionReportConflictingKeys] set.
func NewConflictError(conflicts []KeyRange) *Error {
	e := NewError(CodeNotCommitted, "another transaction wrote to what this one read")
	if len(conflicts) > 0 {
		e.Detail += ": " + describeRanges(conflicts)
		e.Conflicts = conflicts
	}
	return e
}

// maxDescribed is how many ranges an error's text lists.
const maxDescribed = 3

func describeRanges(ranges []KeyRange) string {
	var b strings.Builder
	for i, r := range ranges[:min(len(ranges), maxDescribed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		if string(r.End) == string(r.Begin)+"\x00" {
			fmt.Fprintf(&b, "key %s", quoteKey(r.Begin))
		} else {
			fmt.Fprintf(&b, "keys from %s to %s", quoteKey(r.Begin), quoteKey(r.End))
		}
	}
	if more := len(ranges) - maxDescribed; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

// quoteKey quotes a key for an error's text; of a long one, the first bytes.
func quoteKey(key []byte) string {
	const limit = 64
	if len(key) > limit {
		return fmt.Sprintf("%q…", key[:limit])
	}
	return fmt.Sprintf("%q", key)
}

// ConflictRangerOf returns the [ConflictRanger] of a transaction. It fails with
// CodeClientInvalidOperation if the engine has none.
func ConflictRangerOf(tx Transaction) (ConflictRanger, error) {
	ranger, ok := tx.(ConflictRanger)
	if !ok {
		return nil, NewError(CodeClientInvalidOperation, "the engine's transactions cannot show their conflict ranges")
	}
	return ranger, nil
}
