// SPDX-License-Identifier: Apache-2.0

package format

import "fmt"

// Error says why stored bytes cannot be used. The caller adds where they are.
type Error struct {
	Reason string // what is wrong
	Remedy string // what to do
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }

// The remedies of an [Error].
const (
	RemedyNewer   = "update the program that reads it"
	RemedyCorrupt = "if a newer version of the program wrote it, update this one; otherwise restore it from a backup"
)

func corrupt(reason string) error { return &Error{reason, RemedyCorrupt} }

// newer is the error of a format that this program does not know.
func newer(prefix string, format, known int64) error {
	return &Error{fmt.Sprintf("%sit is of format %d; this program knows formats up to %d", prefix, format, known), RemedyNewer}
}
