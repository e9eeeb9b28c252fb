// SPDX-License-Identifier: Apache-2.0

package index

import "fmt"

// State says what may be done with an index. It is kept in the header of each
// store, because an index can be built in one tenant and not in another.
type State int

// The states of an index.
const (
	// Disabled: entries are neither written nor read, and existing ones are not to
	// be trusted. An index that was added to a type with records is disabled until it is
	// built.
	Disabled State = 0
	// Building: every write maintains the entries, but records from before may
	// not have theirs yet. Queries are refused.
	Building State = 1
	// Readable: complete, maintained by every write.
	Readable State = 2
)

// String returns the state's name.
func (s State) String() string {
	switch s {
	case Disabled:
		return "disabled"
	case Building:
		return "building"
	case Readable:
		return "readable"
	}
	return fmt.Sprintf("State(%d)", int(s))
}
