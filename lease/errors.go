// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/internal/refusal"
)

var (
	// ErrInvalid is wrapped by every error about a request that can never be
	// granted: a malformed service id, too much throughput, and the like.
	ErrInvalid = errors.New("lease: invalid request")

	// ErrUnknownService says that the server grants nothing for the service.
	ErrUnknownService = errors.New("lease: unknown service")

	// ErrExhausted says that the positions asked for are all leased. Nothing was
	// granted. Ask again once leases have ended or were released, or change the
	// layout of the service: more bits for ids, or shorter leases.
	ErrExhausted = refusal.ErrExhausted

	// ErrBudget says that a request exceeds what its account may have leased: the
	// MaxLeased of a token of lease/http. Nothing was granted. Ask again once
	// leases of the account have ended or were released, or for less.
	ErrBudget = refusal.ErrBudget

	// ErrNotFound says that there is no such lease, or that its positions have
	// been granted again since.
	ErrNotFound = errors.New("lease: no such lease")

	// ErrSignature says that a release does not carry the signature of the
	// lease's secret.
	ErrSignature = errors.New("lease: wrong signature")

	// ErrExpiredTimestamp says that a release was signed more than
	// [SignatureWindow] before or after the store's time.
	ErrExpiredTimestamp = errors.New("lease: signature too old or too new")

	// ErrLastTs says that a release names a last millisecond that lies outside
	// of the lease, or another one than the first release of the lease did.
	ErrLastTs = errors.New("lease: impossible last timestamp")

	// ErrQuarantine is wrapped by a [*QuarantineError].
	ErrQuarantine = errors.New("lease: in quarantine")

	// ErrCorrupt says that a record in the store is not what this package wrote. The
	// error names the key. The record is left as it is, and nothing is granted over
	// it; others are.
	ErrCorrupt = refusal.ErrCorrupt

	// ErrNewer says that a newer version of this library wrote a record in the store. The record
	// is not damaged, and is left as it is: nothing is granted or changed with it. Blocks of
	// others are granted and listed. The error names the version to run. It is persistable.ErrNewer.
	ErrNewer = newer.Err
)

// QuarantineError says that the store may have lost leases that are still in
// use, so that nothing is granted until they have ended. See [Options.Fresh].
type QuarantineError struct {
	ServiceID string
	Until     time.Time // by the store's clock
}

// Error names the remedy, the service, and the end.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("%v: if the store of service %q is new, or has lost nothing, run \"kazahana lease quarantine --end\" or call Server.EndQuarantine, once; "+
		"if it may have lost leases, wait until %s, when these have ended (Options.Fresh says beforehand that a store is new)",
		ErrQuarantine, e.ServiceID, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrQuarantine].
func (e *QuarantineError) Unwrap() error { return ErrQuarantine }
