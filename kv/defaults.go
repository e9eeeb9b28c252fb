// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// TransactionDefaults are the options that all transactions of a database begin
// with: a field of every engine's Options. The zero value keeps the engine's own.
//
// [Transaction.SetOption] overrides a default for one transaction. OnError keeps
// the timeout, retry limit and cap of the back-off that SetOption set, and
// restores the other defaults. Reset restores all defaults and restarts the
// timeout.
type TransactionDefaults struct {
	// Timeout ends transactions with CodeTransactionTimedOut, counted from Begin,
	// retries included ([OptionTimeout]). A commit that is under way goes on: its error
	// is one of [IsOutcomeUnknown]. 0: none. It is cut to whole milliseconds.
	Timeout time.Duration

	// RetryLimit is how often OnError retries before it returns the error
	// ([OptionRetryLimit]). 0: without limit.
	RetryLimit int

	// MaxRetryDelay is the cap of OnError's back-off ([OptionMaxRetryDelay]).
	// 0: one second. It is cut to whole milliseconds.
	MaxRetryDelay time.Duration

	// SizeLimit is the most bytes of a transaction, 32 to [MaxTransactionSize]
	// ([OptionSizeLimit]). 0: that. Larger ones fail with CodeTransactionTooLarge.
	SizeLimit int

	// ReportConflictingKeys makes a commit that fails with CodeNotCommitted report
	// the conflicting reads ([OptionReportConflictingKeys]). The reply of a cluster
	// to such a commit is then a little larger.
	ReportConflictingKeys bool
}

// Validate reports all faults of the defaults.
func (d TransactionDefaults) Validate() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("kv: "+format, args...)) }
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"Timeout", d.Timeout}, {"MaxRetryDelay", d.MaxRetryDelay}} {
		if f.d != 0 && (f.d < time.Millisecond || f.d.Milliseconds() > math.MaxInt32) {
			fault("%s is %v; use 0 for the default, or a millisecond to %d ms", f.name, f.d, math.MaxInt32)
		}
	}
	if d.RetryLimit < 0 || d.RetryLimit > math.MaxInt32 {
		fault("RetryLimit is %d; use 0 for no limit, or at most %d", d.RetryLimit, math.MaxInt32)
	}
	if d.SizeLimit != 0 && (d.SizeLimit < 32 || d.SizeLimit > MaxTransactionSize) {
		fault("SizeLimit is %d; use 0 for the default, or 32 to %d bytes", d.SizeLimit, MaxTransactionSize)
	}
	return errors.Join(errs...)
}
