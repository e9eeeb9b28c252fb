// SPDX-License-Identifier: Apache-2.0

package dynamic

import "fmt"

// Error says why no [Program] can be made of an index's layout.
type Error struct {
	Index  string // the name in keys
	Layout string
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("dynamic: the index %s with the layout %q: %s", e.Index, e.Layout, e.Reason)
}
