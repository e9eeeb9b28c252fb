// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
)

// Errors.
var (
	// ErrClosed says that the client was closed.
	ErrClosed = errors.New("client: it was closed")
	// ErrExhausted says that the key has no further ID (code 4003).
	ErrExhausted = errors.New("client: the key is exhausted")
	// ErrNotFound says that there is no such key (code 3001).
	ErrNotFound = errors.New("client: there is no such key")
	// ErrUnauthenticated says that the token is missing, wrong or has expired (code 2001).
	ErrUnauthenticated = errors.New("client: the token is not valid")
	// ErrForbidden says that the token does not permit the request (code 2002).
	ErrForbidden = errors.New("client: the token is not one for this")
	// ErrRateLimited says that there are too many requests with the token (status 429).
	ErrRateLimited = errors.New("client: too many requests")
	// ErrOrder says that the service keeps giving numbers that come before those given already, as it
	// does after an operator moved the sequence back by force. [Options.AnyOrder] accepts them.
	ErrOrder = errors.New("client: the service gives numbers that come before those given already")
	// ErrLease says that there is no lease for snowflake IDs. A [*LeaseError] wraps it.
	ErrLease = errors.New("client: no lease")
)

// RequestError is a request that failed. errors.Is finds [ErrExhausted] and the
// other errors by the code of the service's answer; errors.As finds the answer itself, a
// [*api.Error], where there was one.
type RequestError struct {
	Method, Path string
	Key          string // empty: the request names none
	Tries        int
	Err          error // of the last try

	uncertain bool // a try before the last one may have been carried out
}

// Error names the request.
func (e *RequestError) Error() string {
	text := "client: " + e.Method + " " + e.Path
	if e.Key != "" {
		text += fmt.Sprintf(" (key %q)", e.Key)
	}
	if e.Tries > 1 {
		text += fmt.Sprintf(", tried %d times", e.Tries)
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns the error of the last try.
func (e *RequestError) Unwrap() error { return e.Err }

// Is reports whether target stands for the code of the service's answer.
func (e *RequestError) Is(target error) bool {
	var refusal *api.Error
	if !errors.As(e.Err, &refusal) {
		return false
	}
	switch target {
	case ErrExhausted:
		return refusal.Code == api.Exhausted
	case ErrNotFound:
		return refusal.Code == api.NotFound
	case ErrUnauthenticated:
		return refusal.Code == api.Authentication
	case ErrForbidden:
		return refusal.Code == api.Authorization
	case ErrRateLimited:
		return refusal.Status == 429
	}
	return false
}

// AnswerError is an answer that is not the ID service's: another program serves
// the URL, or a proxy has changed the answer.
type AnswerError struct {
	Status int // of HTTP
	Reason string
	Err    error // may be nil
}

// Error says what is wrong with the answer.
func (e *AnswerError) Error() string {
	text := fmt.Sprintf("the answer (status %d) is not the ID service's: %s", e.Status, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *AnswerError) Unwrap() error { return e.Err }

// ClockError says that this machine's clock is before the last ID that was made, or before the
// begin of the lease. No ID was made; the handle makes IDs again when the clock has caught up.
type ClockError struct {
	Key    string
	Behind time.Duration // in whole milliseconds
	Limit  time.Duration // [Options.MaxBackward]
}

// Error names the distance and the remedy.
func (e *ClockError) Error() string {
	return fmt.Sprintf("client: key %q: the clock is behind by %v (it may be by %v); check the NTP configuration or the system time settings",
		e.Key, e.Behind, max(e.Limit, 0))
}

// LeaseError says that a [Snowflake] has no lease that covers the time of its clock, and
// could get none. No ID was made; the next call asks the service again.
type LeaseError struct {
	Key     string
	Expired time.Time // when the last lease ended; zero: there was none
	Err     error     // why there is no other lease; nil: this machine's clock is past the end of the new one
}

// Error tells why.
func (e *LeaseError) Error() string {
	text := fmt.Sprintf("client: key %q has no lease", e.Key)
	if !e.Expired.IsZero() {
		text += fmt.Sprintf(" since %s", e.Expired.UTC().Format(time.RFC3339Nano))
	}
	if e.Err == nil {
		return text + ": this machine's clock is ahead of the service's by more than a lease lasts"
	}
	return text + ": " + e.Err.Error()
}

// Unwrap returns [ErrLease] and the cause.
func (e *LeaseError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrLease}
	}
	return []error{ErrLease, e.Err}
}
