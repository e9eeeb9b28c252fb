// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrInvalid is wrapped by every error about text, JSON or SQL input that
	// is no ID or UUID.
	ErrInvalid = errors.New("idgen: invalid id")

	// ErrBeforeCustomEpoch is wrapped by a [*TimeRangeError] about a time that is
	// too early: it would need a timestamp below 1.
	ErrBeforeCustomEpoch = errors.New("idgen: time before the epoch")

	// ErrTimeOverflow is wrapped by a [*TimeRangeError] about a time that is too
	// late for the timestamp bits: after 2095-09-07 in the default layout.
	ErrTimeOverflow = errors.New("idgen: time after the end of the timestamp")

	// ErrClosed is returned by a [Client] that was shut down.
	ErrClosed = errors.New("idgen: the client was shut down")
)

// TimeRangeError says that a time, usually that of the system clock, does not
// fit into the timestamp of an id. No id was made. Match the kind with
// [errors.Is] and [ErrBeforeCustomEpoch] or [ErrTimeOverflow].
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

// ClockBackwardError says that the clock is behind the last timestamp that the
// generator used, by more than it may wait. No id was made; the generator
// answers again once the clock has caught up. See [Options.MaxBackward].
type ClockBackwardError struct {
	Backward time.Duration // how far the clock is behind, in whole milliseconds
	Limit    time.Duration // the limit in force; negative for none
}

// Error names the distance, the limit and the remedy.
func (e *ClockBackwardError) Error() string {
	limit := "no limit"
	if e.Limit >= 0 {
		limit = fmt.Sprintf("limit: %dms", e.Limit.Milliseconds())
	}
	return fmt.Sprintf("idgen: clock moved backward by %dms (%s); check the NTP configuration or the system time settings",
		e.Backward.Milliseconds(), limit)
}

// LeaseAcquisitionError says that there is no lease to make an ID under, and
// fallback is disabled. No ID was made; the generator answers again once a
// lease could be had, for which it keeps trying.
type LeaseAcquisitionError struct {
	Cause error // of the last try; nil while the first one is under way
}

// Error tells what the provider said.
func (e *LeaseAcquisitionError) Error() string {
	if e.Cause == nil {
		return "idgen: no lease acquired yet and fallback is disabled"
	}
	return fmt.Sprintf("idgen: failed to acquire a lease and fallback is disabled: %v", e.Cause)
}

// Unwrap returns the cause.
func (e *LeaseAcquisitionError) Unwrap() error { return e.Cause }

// NoProviderError says that a [Client] has no provider to lease from and
// fallback is disabled, so that it could never make an ID.
type NoProviderError struct{}

// Error names the remedy.
func (*NoProviderError) Error() string {
	return "idgen: no provider configured and fallback is disabled; set Options.Provider or leave DisableFallback false"
}

// CustomEpochMismatchError says that a provider granted a lease whose IDs would not
// sort among those of the client by time, because the epoch, or the number of
// reserve or timestamp bits, is another one. The lease is refused: one of the
// two is configured wrongly, or the service's layout was changed, which must
// never happen once IDs are in use. It is the cause of a
// [*LeaseAcquisitionError], and is logged.
type CustomEpochMismatchError struct {
	Want Layout // the layout of the client
	Got  Layout // that of the lease
}

// Error names both layouts and the remedy.
func (e *CustomEpochMismatchError) Error() string {
	return fmt.Sprintf("idgen: epoch mismatch: IDs are made with epoch %d and %d+%d reserve and timestamp bits, the lease has epoch %d and %d+%d; "+
		"set Options.Layout to the layout of the service, or the service's back to what it was",
		e.Want.CustomEpochMs, e.Want.BitReserve, e.Want.BitTs, e.Got.CustomEpochMs, e.Got.BitReserve, e.Got.BitTs)
}
