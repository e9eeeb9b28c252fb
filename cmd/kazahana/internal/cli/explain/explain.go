// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/leasehome"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

// commandError is an error in the words of the command.
type commandError struct {
	text string
	err  error
}

func (e *commandError) Error() string { return e.text }
func (e *commandError) Unwrap() error { return e.err }

// Error returns an error whose text gives advice for the command line, instead of the
// libraries' advice for Go.
func Error(err error) error {
	var (
		quarantine *lease.QuarantineError
		exhausted  *lease.ExhaustedError
		mismatch   *idgen.CustomEpochMismatchError
		refusal    *leasehttp.StatusError
	)
	text := err.Error()
	switch {
	case errors.As(err, &quarantine):
		text = fmt.Sprintf("service %q is in quarantine: if its store is new, or has lost nothing, end that once: kazahana lease quarantine --end --service %s. If the store may have lost leases, wait until %s, when these have ended (--fresh says beforehand that a store is new)",
			quarantine.ServiceID, shell.Word(quarantine.ServiceID), shell.Stamp(quarantine.Until))
	case errors.As(err, &exhausted):
		text = fmt.Sprintf("service %q has no %d positions per millisecond left: wait for leases to end, shorten them (--duration), or move bits from the sequence to machines (--bits)",
			exhausted.ServiceID, exhausted.ThroughputPerMs)
	case errors.As(err, &mismatch):
		text = fmt.Sprintf("the service makes IDs of --epoch %d --bits %d+%d+…, not of epoch %d with %d+%d: leave the flags out, or give the same",
			mismatch.Got.CustomEpochMs, mismatch.Got.BitReserve, mismatch.Got.BitTs, mismatch.Want.CustomEpochMs, mismatch.Want.BitReserve, mismatch.Want.BitTs)
	case errors.As(err, &refusal) && refusal.Status == http.StatusUnauthorized:
		text += ": show its token with --token-file or " + leasehome.TokenVariable
	}
	return &commandError{goNames.Replace(text), err}
}

// goNames has names in the texts of the libraries, and the command's words for them.
var goNames = strings.NewReplacer(
	"set PlainHTTP", "give --plain-http",
	"BitReserve is", "the number of reserve bits is",
	"BitTs is", "the number of timestamp bits is",
	"BitID is", "the number of machine bits is",
	"BitSeq is", "the number of sequence bits is",
	"CustomEpochMs is", "the epoch, in Unix milliseconds, is",
	"in the server's configuration, or raise MaxServices", "in --services-file, or raise --max-services of lease serve",
	"MaxThroughputPerMs", "maxThroughputPerMs",
	"MaxLeasedPerMs", "maxLeasedPerMs",
	"lower bitSeq", "give fewer bits to the sequence",
	"Options.Layout", "--epoch and --bits",
	"Keys, Current and Cipher are for Mode Keyed, and Mode is", "keys, --current and --cipher are for --mode keyed, and the mode is",
	"Keys has none of version", "there is no key of version",
	"which is the Current one", "which --current names",
	"Keys has version", "a key has version",
	"MaxAhead", "--max-ahead",
	"(Verify lists all damage)", "(kazahana verify lists all damage)",
)
