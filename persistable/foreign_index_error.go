// SPDX-License-Identifier: Apache-2.0

package persistable

import "fmt"

// ForeignIndexError says that a store has an index that this program's code does not
// have and that the program cannot maintain from the bytes of records either. It
// refuses every write to the store, because the index would miss what it writes.
// Reads go on. To end it, update the program; or, if no program queries the index any
// more, run Indexes().RemoveUnused, which this error does not prevent.
type ForeignIndexError struct {
	Type   string // of the records
	Index  string // its name in keys
	Layout string // what the store's header says of it
	Reason string // why the program cannot maintain it
	Err    error  // an [ErrNewer] if the index needs a newer version of this library; its text is in Reason
}

// Unwrap returns Err.
func (e *ForeignIndexError) Unwrap() error { return e.Err }

// Error implements error.
func (e *ForeignIndexError) Error() string {
	return fmt.Sprintf("persistable: %s: nothing was written: the store has the index %s (%s), which this program cannot maintain: %s: "+
		"update this program to a version that has the index; or, if no program queries it any more, run Indexes().RemoveUnused",
		e.Type, e.Index, e.Layout, e.Reason)
}
