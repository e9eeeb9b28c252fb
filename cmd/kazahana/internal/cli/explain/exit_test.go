// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// TestExitCodes pins the codes, which scripts depend on.
func TestExitCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{errors.New("no route to host"), 1},
		{&idgen.LeaseAcquisitionError{Cause: &lease.ExhaustedError{}}, 1},
		{&lease.QuarantineError{}, 1},
		{&lease.CustomEpochError{}, 1},
		{lease.ErrUnknownService, 1},
		{shell.Misuse(&cobra.Command{Use: "x"}, errors.New("unknown flag")), 2},
		{idgen.ErrInvalid, 3},
		{lease.ErrInvalid, 3},
		{shell.Invalid(errors.New("no key")), 3},
		{lease.ErrNotFound, 4},
		{lease.ErrSignature, 4},
		{lease.ErrLastTs, 4},
		{lease.ErrExpiredTimestamp, 4},
	} {
		if got := ExitCode(fmt.Errorf("wrapped: %w", test.err)); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}
