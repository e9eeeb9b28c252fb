// SPDX-License-Identifier: Apache-2.0

package cli

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
		{&lease.EpochError{}, 1},
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
		if got := exitCode(fmt.Errorf("wrapped: %w", test.err)); got != test.want {
			t.Errorf("%v: exit code %d, want %d", test.err, got, test.want)
		}
	}
}

func TestHasPassword(t *testing.T) {
	for at, want := range map[string]bool{
		"redis://host:6379": false, "redis://user@host": false, "redis://user:secret@host": true, "redis://:secret@host/0": true,
		"https://host/a:b@c": false, "sqlite:a:b@c.db": false,
	} {
		if got := hasPassword(at); got != want {
			t.Errorf("hasPassword(%q) = %v", at, got)
		}
	}
}
