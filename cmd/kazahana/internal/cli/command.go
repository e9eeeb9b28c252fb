// SPDX-License-Identifier: Apache-2.0

// Package cli is the command kazahana: its verbs, flags and output.
//
//	code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
//	os.Exit(code)
//
// Results go to Out, a line or a block of text each, or with --json one JSON
// object a line. Errors go to Err and decide the exit code.
//
// The file of a verb has its name: dir.go has kazahana dir, and database.go the verbs over whole
// folders, verify, backup, restore and log. Package database opens what --db or --cluster-file
// names, and package leasehome what --leases names.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/refusal"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

const about = `kazahana shows and changes what is in databases, makes and reads kazahana IDs, serves the leases under
which they are unique, and tells where virtual actors are.

Results are lines of text, or with --json one JSON object a line. Exit codes:
  0  done
  1  failed: the clock, a file, the network, a server or a store
  2  wrong use: an unknown command or flag, a missing argument, options that do not go together
  3  invalid input: a text that is not an ID, an external ID, a key or a lease
  4  there is no such lease, or another client has it; there is no such directory, tenant,
     record or key
  5  a database is damaged; an index does not agree with its records, or records keep it from being built
  6  doctor found no damage, but could not examine everything`

// The exit codes of the command. They stay as they are: scripts depend on them. Where there is
// nothing to show or change, it is [database.ExitMissing].
const (
	ExitDone       = shell.ExitDone
	exitFailed     = shell.ExitFailed
	exitInvalid    = shell.ExitInvalid // the input is not an ID, external ID or key
	exitNoLease    = 4                 // no such lease, or not the caller's to release
	exitDamaged    = 5                 // a database is damaged
	exitFaults     = 5                 // indexes do not agree with their records, or records keep one from being built
	exitIncomplete = 6                 // doctor found no damage, but could not examine everything
)

// Streams are the input and the outputs of a command.
type Streams = shell.Streams

// Run runs the command with the arguments that follow its name, and returns its exit code.
// When ctx ends, the command ends in order.
func Run(ctx context.Context, args []string, streams Streams) int {
	c := shell.NewConsole("kazahana", args, streams)
	root := newRoot(c)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return c.Fail(explainError(err), exitCode(err))
	}
	return ExitDone
}

func newRoot(c *shell.Console) *cobra.Command {
	root := shell.Group("kazahana", "Look into databases, make IDs, serve leases, find virtual actors",
		database.Refuse(idCommand(c)),
		database.Refuse(leaseCommand(c)),
		placementCommand(c),
		kvCommand(c),
		indexCommand(c),
		feedCommand(c),
		typeCommand(c),
		recordCommand(c),
		schemaCommand(c),
		dirCommand(c),
		tenantCommand(c),
		statsCommand(c),
		shellCommand(c, newRoot),
		uiCommand(c),
	)
	root.AddCommand(doctorCommand(c))
	root.AddCommand(databaseCommands(c)...)
	root.AddCommand(database.Refuse(c.VersionCommand()))
	root.Long = about
	database.AddFlags(root)
	c.Prepare(root)
	return root
}

// exitCode returns the code of an error.
func exitCode(err error) int {
	var coded *shell.ExitError
	switch {
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, idgen.ErrInvalid), errors.Is(err, lease.ErrInvalid):
		return exitInvalid
	case errors.Is(err, lease.ErrNotFound), errors.Is(err, lease.ErrSignature), errors.Is(err, lease.ErrLastTs), errors.Is(err, lease.ErrExpiredTimestamp):
		return exitNoLease
	case errors.As(err, new(*embedded.CorruptError)):
		return exitDamaged
	}
	return exitFailed
}

// commandError is an error in the words of the command.
type commandError struct {
	text string
	err  error
}

func (e *commandError) Error() string { return e.text }
func (e *commandError) Unwrap() error { return e.err }

// explainError returns an error with advice for the command line, instead of the
// libraries' advice for Go.
func explainError(err error) error {
	var (
		quarantine *refusal.QuarantineError
		exhausted  *refusal.ExhaustedError
		mismatch   *refusal.EpochMismatchError
		status     *leasehttp.StatusError
	)
	text := err.Error()
	switch {
	case errors.As(err, &quarantine):
		text = fmt.Sprintf("service %q is in quarantine: if its store is new, or has lost nothing, end that once: kazahana lease quarantine --end --service %s. If the store may have lost leases, wait until %s, when these have ended (--fresh says beforehand that a store is new)",
			quarantine.ServiceID, shell.Word(quarantine.ServiceID), shell.Stamp(quarantine.Until))
	case errors.As(err, &exhausted):
		text = fmt.Sprintf("service %q has no %d positions per millisecond left: wait for leases to end, shorten them (--duration), or move bits from the sequence to machines (--bits)",
			exhausted.ServiceID, exhausted.Throughput)
	case errors.As(err, &mismatch):
		text = fmt.Sprintf("service %q makes IDs of --epoch %d --bits %d+%d+…, not of epoch %d with %d+%d: these never change; leave the flags out or give the same, here, to lease serve and in --services-file; or use another service",
			cmp.Or(mismatch.ServiceID, lease.DefaultService), mismatch.Got.CustomEpoch, mismatch.Got.ReserveBits, mismatch.Got.TimestampBits, mismatch.Want.CustomEpoch, mismatch.Want.ReserveBits, mismatch.Want.TimestampBits)
	case errors.As(err, &status) && status.Status == http.StatusUnauthorized:
		text += ": show its token with --token-file or " + leasehome.TokenVariable
	}
	return &commandError{goNames.Replace(text), err}
}

// goNames has names in the texts of the libraries, and the command's words for them.
var goNames = strings.NewReplacer(
	"set PlainHTTP", "give --plain-http",
	"ReserveBits is", "the number of reserve bits is",
	"TimestampBits is", "the number of timestamp bits is",
	"MachineBits is", "the number of machine bits is",
	"SequenceBits is", "the number of sequence bits is",
	"CustomEpoch is", "the epoch, in Unix milliseconds, is",
	"in the server's configuration, or raise MaxServices", "in --services-file, or raise --max-services of lease serve",
	"MaxThroughput", "maxThroughputPerMs",
	"MaxLeased", "maxLeasedPerMs",
	"lower bitSeq", "give fewer bits to the sequence",
	"Options.Layout", "--epoch and --bits",
	"Keys, Current and Cipher are for Mode Keyed, and Mode is", "keys, --current and --cipher are for --mode keyed, and the mode is",
	"Keys has none of version", "there is no key of version",
	"which is the Current one", "which --current names",
	"Keys has version", "a key has version",
	"MaxAhead", "--max-ahead",
	"(Verify lists all damage)", "(kazahana verify lists all damage)",
)
