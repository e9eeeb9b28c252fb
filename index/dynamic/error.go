// SPDX-License-Identifier: Apache-2.0

package dynamic

import "fmt"

// Error says why no [Program] can be made of an index's layout.
type Error struct {
	Index  string // the name in keys
	Layout string
	Reason string
	Err    error // a lease.ErrNewer if a newer version of this library wrote the layout; the reason has its text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("dynamic: the index %s with the layout %q: %s", e.Index, e.Layout, e.Reason)
}
