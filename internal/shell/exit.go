// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// The exit codes that all commands share. They stay as they are: scripts depend
// on them.
const (
	ExitDone    = 0 // done
	ExitFailed  = 1 // the clock, a file, the network, a server or a store
	ExitMisuse  = 2 // an unknown command or flag, a missing argument, options that do not go together
	ExitInvalid = 3 // input that is not what it should be
)

// ExitError is an error with an exit code of its own.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the code.
func (e *ExitError) Unwrap() error { return e.Err }

// Code returns the exit code of an error.
func Code(err error) int {
	var coded *ExitError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &coded):
		return coded.Code
	}
	return ExitFailed
}

// Misuse says that a command was not used as it should be.
func Misuse(cmd *cobra.Command, err error) error {
	return &ExitError{ExitMisuse, fmt.Errorf("%w\nsee %s --help", err, cmd.CommandPath())}
}

// AtLeast refuses the number or duration of a flag that is below the least that means anything.
func AtLeast[N int | int64 | float64 | time.Duration](cmd *cobra.Command, flag string, value, least N) error {
	if value >= least {
		return nil
	}
	return Misuse(cmd, fmt.Errorf("--%s is %v: it must be at least %v", flag, value, least))
}

// Invalid says that input is wrong.
func Invalid(err error) error { return &ExitError{ExitInvalid, err} }
