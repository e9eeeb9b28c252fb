// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"

	"github.com/kazahana-db/kazahana/internal/newer"
)

// Error says why stored bytes cannot be used. The caller adds where they are.
type Error struct {
	Reason string // what is wrong
	Remedy string // what to do
	Err    error  // [newer.Err] or nil
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Remedy
	}
	return e.Reason
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// RemedyCorrupt is the remedy of an [Error] about bytes that no format has. A newer version
// of the user's program may have written the content of a record.
const RemedyCorrupt = "if a newer version of the program wrote it, update this one; otherwise restore it from a backup"

func corrupt(reason string) error { return &Error{reason, RemedyCorrupt, nil} }

// newerError is the [Error] of what a newer version wrote; other errors it returns as they
// are.
func newerError(what string, err error) error {
	var found *newer.Error
	if !errors.As(err, &found) {
		return err
	}
	return &Error{what + newer.Err.Error() + ": " + found.Reason, found.Remedy, err}
}
