// SPDX-License-Identifier: Apache-2.0

package dynamic

import "fmt"

// ValueError is what is wrong with the JSON of a record.
type ValueError struct {
	Type   string // of the record
	Member string // the names that lead to it, such as Address.Zip or Lines[2].Price; "" for the whole
	Line   int    // of the text, from 1
	Reason string // what is wrong, and what is wanted
}

// Error implements error.
func (e *ValueError) Error() string {
	where := fmt.Sprintf("line %d", e.Line)
	if e.Member != "" {
		where += ", " + e.Member
	}
	return fmt.Sprintf("dynamic: no record of %s: %s: %s", e.Type, where, e.Reason)
}

// WhereError is what is wrong with a condition.
type WhereError struct {
	Type string // of the records
	Text string // the condition
	Err  error
}

// Error implements error.
func (e *WhereError) Error() string {
	return fmt.Sprintf("dynamic: the condition %q on %s: %v", e.Text, e.Type, e.Err)
}

// Unwrap returns the cause.
func (e *WhereError) Unwrap() error { return e.Err }
