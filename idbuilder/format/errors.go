// SPDX-License-Identifier: Apache-2.0

package format

import (
	"errors"
	"fmt"
)

var (
	// ErrExhausted says that a number does not fit an auto-increment part: the
	// sequence has ended.
	ErrExhausted = errors.New("format: the sequence is exhausted")
	// ErrBeforeBase says that the clock is before the base of a timestamp part.
	ErrBeforeBase = errors.New("format: the clock is before the base of the timestamp")
)

// PartError is a fault of one part of a format.
type PartError struct {
	Part      int    // index, from 0; -1 for the format as a whole
	Parameter string // as requests name it; "" for the part as a whole
	Reason    string // what is wrong, and what is allowed
}

// Error implements error.
func (e *PartError) Error() string {
	switch {
	case e.Part < 0:
		return "parts: " + e.Reason
	case e.Parameter == "":
		return fmt.Sprintf("parts[%d]: %s", e.Part, e.Reason)
	}
	return fmt.Sprintf("parts[%d].%s: %s", e.Part, e.Parameter, e.Reason)
}
