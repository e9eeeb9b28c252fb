// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/lease"
)

// The exit codes of the command. They stay as they are: scripts depend on them.
const (
	ExitDone    = shell.ExitDone
	ExitFailed  = shell.ExitFailed
	ExitMisuse  = shell.ExitMisuse
	ExitInvalid = shell.ExitInvalid // the input is not an ID, external ID or key
	ExitNoLease = 4                 // no such lease, or not the caller's to release; no such key of a database
	ExitDamaged = 5                 // a database is damaged
)

// ExitCode returns the code of an error.
func ExitCode(err error) int {
	var coded *shell.ExitError
	switch {
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, idgen.ErrInvalid), errors.Is(err, lease.ErrInvalid):
		return ExitInvalid
	case isNoLease(err):
		return ExitNoLease
	case errors.As(err, new(*embedded.CorruptError)):
		return ExitDamaged
	}
	return ExitFailed
}

// isNoLease reports whether an error says that there is no such lease, or that it
// is not the caller's to release.
func isNoLease(err error) bool {
	for _, target := range []error{lease.ErrNotFound, lease.ErrSignature, lease.ErrLastTs, lease.ErrExpiredTimestamp} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
