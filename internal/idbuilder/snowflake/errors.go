// SPDX-License-Identifier: Apache-2.0

package snowflake

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/lease"
)

var (
	// ErrExhausted is wrapped by an [*ExhaustedError].
	ErrExhausted = errors.New("snowflake: exhausted")
	// ErrLeaseKey says that a text is not a lease key of this package.
	ErrLeaseKey = errors.New("snowflake: malformed lease key; send the lease_key of the last answer, or none")
	// ErrStale says that another layout of the key is in force, of a later version.
	ErrStale = errors.New("snowflake: the layout of the key has been changed")
)

// ExhaustedError says that no worker id can be leased.
type ExhaustedError struct {
	Key string
	// Workers is how many worker ids the key has; all are leased.
	// 0: the bits of the timestamp are used up.
	Workers int
	// Free is when the first worker id becomes free if its client does not renew it; zero: never.
	Free time.Time
}

// Error names the key, what it lacks, and the remedy.
func (e *ExhaustedError) Error() string {
	if e.Workers == 0 {
		return fmt.Sprintf("%v: the timestamp of key %q has no further value; use another key, with a later base_ts or a larger ts_size", ErrExhausted, e.Key)
	}
	return fmt.Sprintf("%v: all %d worker ids of key %q are leased; the first may become free at %s; clients that renew and release their leases hold fewer",
		ErrExhausted, e.Workers, e.Key, e.Free.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrExhausted].
func (e *ExhaustedError) Unwrap() error { return ErrExhausted }

// ChangeError says that IDs of a layout could equal IDs that are, or were, made
// with the layout before.
type ChangeError struct {
	Key   string
	Until time.Time // from then on they cannot; zero: they could for ever
}

// Error names the key and the time.
func (e *ChangeError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("snowflake: IDs of the new layout of key %q would repeat IDs of the old one for as long as its timestamp lasts; use another key", e.Key)
	}
	return fmt.Sprintf("snowflake: IDs of the new layout of key %q could repeat IDs of the old one until %s", e.Key, e.Until.UTC().Format(time.RFC3339))
}

// QuarantineError says that the store may have lost leases, and when one can be
// granted: see [Leaser.Quarantine].
type QuarantineError = lease.QuarantineError
