// SPDX-License-Identifier: Apache-2.0

// Package refusal has what packages idgen, lease and lease/http share of a refused request,
// and programs need not name: the figures that an error carries over HTTP, and the budget of an
// account. Programs match the errors by the sentinels, which the public packages show under the
// same names.
//
//	var e *refusal.ExhaustedError
//	if errors.As(err, &e) {
//		send(e.ServiceID, e.Throughput)
//	}
//
// Everything here is safe for concurrent use.
package refusal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// The sentinels. Package lease documents the first four, package idgen the others.
var (
	ErrExhausted           = errors.New("lease: no positions are free")
	ErrBudget              = errors.New("lease: the account has leased too much")
	ErrCorrupt             = errors.New("lease: corrupt record")
	ErrQuarantine          = errors.New("lease: in quarantine")
	ErrBeforeCustomEpoch   = errors.New("idgen: time before the epoch")
	ErrTimeOverflow        = errors.New("idgen: time after the end of the timestamp")
	ErrCustomEpochMismatch = errors.New("idgen: epoch mismatch")
)

// ExhaustedError is an [ErrExhausted].
type ExhaustedError struct {
	ServiceID  string
	Throughput int // what was asked for
}

// Error names the service, what it lacks, and the remedy.
func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%v: service %q has no %d positions per millisecond to lease; wait for leases to end, shorten them, or lower bitSeq",
		ErrExhausted, e.ServiceID, e.Throughput)
}

// Unwrap returns [ErrExhausted].
func (e *ExhaustedError) Unwrap() error { return ErrExhausted }

// CorruptError is an [ErrCorrupt] about one record in a store of leases.
type CorruptError struct {
	ServiceID string
	Key       []byte // below the service's prefix, as in docs/layout.md
	Cause     error
}

// Error names the key and what is wrong there.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: service %q, key %q: %v", ErrCorrupt, e.ServiceID, e.Key, e.Cause)
}

// Unwrap returns [ErrCorrupt] and the cause.
func (e *CorruptError) Unwrap() []error { return []error{ErrCorrupt, e.Cause} }

// QuarantineError is an [ErrQuarantine].
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

// Layout is an idgen.Layout, to which it converts; its JSON has the names of the specification.
type Layout struct {
	CustomEpoch   int64 `json:"customEpoch"`
	ReserveBits   int   `json:"bitReserve"`
	TimestampBits int   `json:"bitTs"`
	MachineBits   int   `json:"bitId"`
	SequenceBits  int   `json:"bitSeq"`
}

// EpochMismatchError is an [ErrCustomEpochMismatch].
type EpochMismatchError struct {
	ServiceID string
	Want      Layout // what is configured; the bits of machine and sequence may differ
	Got       Layout // that of the leases
}

// Error names both layouts and the remedy.
func (e *EpochMismatchError) Error() string {
	return fmt.Sprintf("%v: the leases of service %q have epoch %d, %d reserve and %d timestamp bits, but epoch %d, %d and %d are configured: "+
		"these never change; set Options.Layout to the layout of the leases, restore the service's configuration, or use another service id", ErrCustomEpochMismatch,
		cmp.Or(e.ServiceID, "default"), e.Got.CustomEpoch, e.Got.ReserveBits, e.Got.TimestampBits, e.Want.CustomEpoch, e.Want.ReserveBits, e.Want.TimestampBits)
}

// Unwrap returns [ErrCustomEpochMismatch].
func (e *EpochMismatchError) Unwrap() error { return ErrCustomEpochMismatch }

// TimeRangeError is an [ErrBeforeCustomEpoch] or an [ErrTimeOverflow].
type TimeRangeError struct {
	Time  time.Time // the time that does not fit
	First time.Time // the earliest time that fits
	Last  time.Time // the latest time that fits
}

// Error names the time, the range and the remedy.
func (e *TimeRangeError) Error() string {
	const form = "2006-01-02T15:04:05.000Z07:00"
	return fmt.Sprintf("%v: %s is not within %s and %s; set the clock right or use a layout with another epoch",
		e.Unwrap(), e.Time.UTC().Format(form), e.First.UTC().Format(form), e.Last.UTC().Format(form))
}

// Unwrap returns [ErrBeforeCustomEpoch] or [ErrTimeOverflow].
func (e *TimeRangeError) Unwrap() error {
	if e.Time.Before(e.First) {
		return ErrBeforeCustomEpoch
	}
	return ErrTimeOverflow
}

// BudgetError is an [ErrBudget].
type BudgetError struct {
	ServiceID     string
	Throughput    int // what was asked for
	Leased, PerMs int // what the account has leased, and may have leased
}

// Error names the service and the figures.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v: of service %q it has leased a throughput of %d per millisecond, asks for %d more, and may have %d",
		ErrBudget, e.ServiceID, e.Leased, e.Throughput, e.PerMs)
}

// Unwrap returns [ErrBudget].
func (e *BudgetError) Unwrap() error { return ErrBudget }

// Budget bounds what one account has leased of a service. The account is kept in
// the store: the bound holds for all servers of the store together, and a lease
// counts until it ends or any server releases it. A lease that a request replaces, see
// idgen.AcquireRequest, no longer counts in this bound, but in another one of the same
// size: an account that renews its leases has twice PerMs for a moment.
type Budget struct {
	Account string // the account that leases count in; it is not a secret
	PerMs   int    // most positions of a millisecond that it may have leased; the last lease may pass it

	applied atomic.Bool
}

// MarkApplied notes that a server answers a call under the budget.
func (b *Budget) MarkApplied() { b.applied.Store(true) }

// IsApplied reports whether a server has answered a call under the budget: no
// provider in between has lost the context.
func (b *Budget) IsApplied() bool { return b.applied.Load() }

type budgetKey struct{}

// WithBudget returns a context under which lease.Server.Acquire grants no more than the
// budget permits, and otherwise returns a [*BudgetError]. It travels in the context
// because providers that wrap a server pass that on.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// BudgetOf returns the budget of a call, nil if it has none.
func BudgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}
