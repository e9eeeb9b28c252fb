// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/placement"
)

// States, and what typed errors are.
var (
	// ErrOutcomeUnknown says that a call may have been handled, or may still be: see
	// [CallError.Unknown].
	ErrOutcomeUnknown = errors.New("host: it is not known whether the call was handled")
	// ErrUnreachable says that a process could not be reached, and that it certainly
	// has not got the request.
	ErrUnreachable = errors.New("host: the process cannot be reached")
	// ErrNotHere says that a process does not have the activation of a key and
	// may not forward the request any more. It was not handled.
	ErrNotHere = errors.New("host: the activation is elsewhere")
	// ErrOverloaded says that a process has too many requests under way. The
	// call was not handled.
	ErrOverloaded = errors.New("host: too many requests are under way")
	// ErrMailboxFull is what a [MailboxFullError] is.
	ErrMailboxFull = errors.New("host: the mailbox is full")
	// ErrDeactivated is the cause of the end of [Activation.Context] when the
	// activation has ended in an orderly way. If another owner may have it, the cause
	// is [placement.ErrActivationLost] instead.
	ErrDeactivated = errors.New("host: the activation has ended")
	// ErrNotStarted says that the host or client was not started.
	ErrNotStarted = errors.New("host: it was not started")
	// ErrStarted says that what must be done before Start was done after it.
	ErrStarted = errors.New("host: it was started already")
)

// errDraining makes a call look for the next incarnation of the activation.
var errDraining = fmt.Errorf("%w: the one here is ending", ErrNotHere)

// errGone is for a factory that returns after its activation has ended.
var errGone = errors.New("host: the activation ended before its factory returned")

// CallError says why a call failed on its way. What the handler itself returned
// comes as it is, without a CallError: see [RegisterError].
type CallError struct {
	Key    placement.Key
	Method string
	// Unknown says that the handler may have been called, and may still run. The
	// error is an [ErrOutcomeUnknown] then. If it is false, the handler was certainly not called.
	Unknown bool
	Err     error
}

// Error implements error.
func (e *CallError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("%v: %s of %s: %v", ErrOutcomeUnknown, e.Method, clip(e.Key.String()), e.Err)
	}
	return fmt.Sprintf("host: %s of %s was not handled: %v", e.Method, clip(e.Key.String()), e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrOutcomeUnknown] and the outcome is unknown.
func (e *CallError) Is(target error) bool { return e.Unknown && target == ErrOutcomeUnknown }

// MailboxFullError says that as many calls of an activation wait as
// [Options.Mailbox] allows. It is an [ErrMailboxFull]. The call was not handled.
type MailboxFullError struct {
	Key     placement.Key
	Waiting int
}

// Error implements error.
func (e *MailboxFullError) Error() string {
	return fmt.Sprintf("%v: %d calls of %s wait", ErrMailboxFull, e.Waiting, e.Key)
}

// Is reports whether target is [ErrMailboxFull].
func (e *MailboxFullError) Is(target error) bool { return target == ErrMailboxFull }

// CycleError says that an activation was called by a handler for which it waits
// itself, so that the call could never be handled.
type CycleError struct {
	Key   placement.Key   // that was called
	Chain []placement.Key // the activations that wait, the first caller first
}

// Error implements error.
func (e *CycleError) Error() string {
	names := make([]string, 0, len(e.Chain)+1)
	for _, key := range e.Chain {
		names = append(names, clip(key.String()))
	}
	return "host: the call would wait for itself: " + strings.Join(append(names, clip(e.Key.String())), " -> ")
}

// DepthError says that a chain of calls from activation to activation is longer
// than MaxChain.
type DepthError struct {
	Key  placement.Key
	Most int
}

// Error implements error.
func (e *DepthError) Error() string {
	return fmt.Sprintf("host: %s was called through %d activations, each of which waits for the next; more are not allowed", clip(e.Key.String()), e.Most)
}

// MethodError says that a kind has no method of a name, in the process that has
// the activation.
type MethodError struct {
	Kind, Method string
}

// Error implements error.
func (e *MethodError) Error() string {
	return fmt.Sprintf("host: kind %q has no method %q: register it with Handle before Start, in all processes that have the kind", clip(e.Kind), clip(e.Method))
}

// PayloadError says that an argument or a result cannot be encoded or decoded.
type PayloadError struct {
	Key    placement.Key
	Method string
	What   string // the argument or the result
	Err    error
}

// Error implements error.
func (e *PayloadError) Error() string {
	return fmt.Sprintf("host: the %s of %s of %s: %v", e.What, clip(e.Method), clip(e.Key.String()), e.Err)
}

// Unwrap returns the cause.
func (e *PayloadError) Unwrap() error { return e.Err }

// SizeError says that an argument or a result is larger than
// [Options.MaxPayload].
type SizeError struct {
	Bytes, Most int
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("it has %d bytes; at most %d are possible", e.Bytes, e.Most)
}

// CodecError says that a request is in another codec than that of the process
// that got it.
type CodecError struct {
	Got, Want string
}

// Error implements error.
func (e *CodecError) Error() string {
	return fmt.Sprintf("host: the request is in codec %q; this process uses %q: all processes must use the same", clip(e.Got), e.Want)
}

// PanicError says that a handler, a factory or a Deactivate has panicked.
type PanicError struct {
	Key   placement.Key
	In    string // the method, or what else has panicked
	Value string
	Stack string `json:"-"` // in the process where it happened; else empty
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("host: %s of %s panicked: %s", e.In, clip(e.Key.String()), e.Value)
}

// RegistrationError says why a kind, a method or an error cannot be registered.
type RegistrationError struct {
	Name   string
	Reason string
	Err    error // the cause, if any
}

// Error implements error.
func (e *RegistrationError) Error() string {
	return fmt.Sprintf("host: %q cannot be registered: %s", clip(e.Name), e.Reason)
}

// Unwrap returns the cause.
func (e *RegistrationError) Unwrap() error { return e.Err }

// clip shortens a text from outside for an error.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
