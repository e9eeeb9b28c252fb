// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// The exit codes of the command. They stay as they are: scripts depend on them.
const (
	ExitDone    = 0 // done
	ExitFailed  = 1 // the clock, a file, the network, a server or a store
	ExitMisuse  = 2 // an unknown command or flag, a missing argument, options that do not go together
	ExitInvalid = 3 // input that is no ID, external ID or key
	ExitNoLease = 4 // no such lease, or not the caller's to release
)

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// misuse says that a command was not used as it should be.
func misuse(cmd *cobra.Command, err error) error {
	return &exitError{ExitMisuse, fmt.Errorf("%w\nsee %s --help", err, cmd.CommandPath())}
}

// invalid says that input is wrong.
func invalid(err error) error { return &exitError{ExitInvalid, err} }

// exitCode returns the code of an error.
func exitCode(err error) int {
	var coded *exitError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, idgen.ErrInvalid), errors.Is(err, lease.ErrInvalid):
		return ExitInvalid
	case noLease(err):
		return ExitNoLease
	}
	return ExitFailed
}

// fail reports an error and returns its exit code.
func (c *command) fail(err error) int {
	code := exitCode(err)
	err = explain(err)
	if c.json {
		report := struct {
			Error string `json:"error"`
			Exit  int    `json:"exit"`
		}{err.Error(), code}
		_ = json.NewEncoder(c.Err).Encode(report)
	} else {
		fmt.Fprintln(c.Err, "kazahana:", indented(err.Error()))
	}
	return code
}

// indented returns a text whose lines behind the first one cannot be taken for
// lines of their own.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// noLease reports whether an error says that there is no such lease, or that it
// is not the caller's to release.
func noLease(err error) bool {
	for _, target := range []error{lease.ErrNotFound, lease.ErrSignature, lease.ErrLastTs, lease.ErrExpiredTimestamp} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
