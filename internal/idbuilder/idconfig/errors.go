// SPDX-License-Identifier: Apache-2.0

package idconfig

import (
	"errors"
	"fmt"
)

// ErrKey says that the key is not well-formed. A [*ParamError] of a key wraps it.
var ErrKey = errors.New("invalid key format")

// ParamError is a fault of one parameter of a configuration.
type ParamError struct {
	Param  string // as the request names it
	Reason string // what is wrong, and what is allowed
	Err    error  // [ErrKey] or nil
}

// Error implements error.
func (e *ParamError) Error() string { return e.Param + ": " + e.Reason }

// Unwrap returns Err.
func (e *ParamError) Unwrap() error { return e.Err }

func fault(param, reason string, args ...any) error {
	return &ParamError{Param: param, Reason: fmt.Sprintf(reason, args...)}
}

// twice returns the fault of a parameter that is given in both dialects.
func twice(param, other string) error {
	return fault(param, "%s says the same; give one of the two", other)
}

// ChangeError says that IDs could repeat after a change of a configuration.
type ChangeError struct {
	Param  string
	Reason string
}

// Error implements error.
func (e *ChangeError) Error() string {
	return fmt.Sprintf("%s: %s; repeat the request with force=true to accept that IDs may come twice", e.Param, e.Reason)
}
