// SPDX-License-Identifier: Apache-2.0

package persistable

import "fmt"

// PartialError says that the writes of many records stopped, and where. It unwraps to
// the cause.
//
// Of CreateMany and SaveMany the first Done records of the list are written, and of
// CreateFrom and SaveFrom the first Done of the sequence. If a record cannot be
// written, all records before it are: the cause is that of the record at Done.
// After the cause is removed, another call may go on with the rest, vs[e.Done:].
//
// Uncertain is not 0 if the outcome of a commit is unknown, because the context ended
// during it, for example, or because its acknowledgement was lost and the attempts after it
// had fewer records. Then at most Uncertain records behind the first Done may be written,
// too. To go on, look which of them are there, or use SaveMany, which may write a record
// twice.
//
// In a transaction of the caller nothing is committed yet; Done is the number of
// records that the transaction would write. Let its function return the error.
type PartialError struct {
	Type      string
	Done      int // records that are written, or deleted
	Uncertain int // further records of which it is unknown
	Err       error
}

// Error implements error.
func (e *PartialError) Error() string {
	text := fmt.Sprintf("persistable: %s: stopped behind %d records", e.Type, e.Done)
	if e.Uncertain > 0 {
		text += fmt.Sprintf(" (up to %d more may be written)", e.Uncertain)
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *PartialError) Unwrap() error { return e.Err }
