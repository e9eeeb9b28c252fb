// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// Why a call, a host or a client fails.
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
	// ErrMailboxFull says that as many calls of an activation wait as [Options.Mailbox]
	// allows. The call was not handled. Repeat it later.
	ErrMailboxFull = errors.New("host: the mailbox is full")
	// ErrCycle says that a handler has called an activation that waits for it, so that the
	// call could never be handled. The text has the chain of calls. Let the handler return
	// before the call, or call another activation.
	ErrCycle = errors.New("host: the call would wait for itself")
	// ErrChainTooLong says that more than MaxChain activations wait, each for the next. The
	// call was not handled.
	ErrChainTooLong = errors.New("host: the chain of calls is too long")
	// ErrNoMethod says that a kind has no method of the name, in the process that has the
	// activation. Register it with [Handle] in all processes that have the kind.
	ErrNoMethod = errors.New("host: there is no such method")
	// ErrPayload says that an argument or a result cannot be encoded, decoded or sent.
	ErrPayload = errors.New("host: the payload cannot be carried")
	// ErrTooLarge says that an argument or a result is larger than [Options.MaxPayload], which
	// all processes should set alike. It wraps [ErrPayload].
	ErrTooLarge = fmt.Errorf("%w: it is too large", ErrPayload)
	// ErrCodec says that a request is in another codec than that of the process that got it.
	// Give all processes the same [Options.Codec].
	ErrCodec = errors.New("host: the request is in another codec")
	// ErrDeactivated is the cause of the end of [Activation.Context] when the
	// activation has ended in an orderly way. If another owner may have it, the cause
	// is [placement.ErrActivationLost] instead.
	ErrDeactivated = errors.New("host: the activation has ended")
	// ErrPanic says that a handler, a factory, a timer or a Deactivate has panicked. The text has the key,
	// what has panicked, and the value of the panic. The stack is in the log of the process where it happened.
	ErrPanic = errors.New("host: code of an activation has panicked")
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

// panicError is the [ErrPanic] of a handler, a factory or a Deactivate.
type panicError struct {
	Key   placement.Key
	In    string // the method, or what else has panicked
	Value string
	// Unknown says that the value is the error of an unknown outcome of a transaction of the activation itself.
	Unknown bool   `json:",omitempty"`
	Stack   string `json:"-"` // in the process where it happened; else empty
}

// Error implements error.
func (e *panicError) Error() string {
	return fmt.Sprintf("host: %s of %s panicked: %s", e.In, clip(e.Key.String()), e.Value)
}

// Is reports whether target is [ErrPanic], or kv.ErrOutcomeUnknown for a value that is one.
func (e *panicError) Is(target error) bool {
	return target == ErrPanic || e.Unknown && target == kv.ErrOutcomeUnknown
}

// isOwnUnknown reports whether err leaves open whether a transaction of the activation itself
// has committed. What a callee does not know is that of the callee: such an error was decoded.
func isOwnUnknown(err error) bool {
	switch e := err.(type) {
	case nil, *CallError, *remoteError:
		return false
	case *panicError:
		return e.Unknown && e.Stack != ""
	case *kv.Error:
		return kv.IsOutcomeUnknown(e)
	case interface{ Is(target error) bool }:
		if e.Is(kv.ErrOutcomeUnknown) {
			return true
		}
	}
	return err == kv.ErrOutcomeUnknown || slices.ContainsFunc(unwrap(err), isOwnUnknown)
}

// isUnknownPanic is isOwnUnknown for the value of a panic. Its methods may panic in turn.
func isUnknownPanic(value any) (unknown bool) {
	defer func() { _ = recover() }()
	err, _ := value.(error)
	return isOwnUnknown(err)
}

// lostSeat is the [placement.ErrNotReady] of a host that has lost its membership and joins again.
type lostSeat struct {
	member string
	why    error // of the loss, or of the last try to join
}

// Error implements error.
func (e *lostSeat) Error() string {
	return fmt.Sprintf("host: the member %s has lost its membership and joins again; retry: %v", e.member, e.why)
}

// Unwrap returns the state. It hides why: that is not the state of a call.
func (e *lostSeat) Unwrap() error { return placement.ErrNotReady }

// registrationError says why a kind or a method cannot be registered.
func registrationError(name string, why error) error {
	return fmt.Errorf("host: %q cannot be registered: %w", clip(name), why)
}

// What an error about a payload speaks of.
const argument, resultOf = "argument", "result"

// payloadFault is an error about a payload until the call that it belongs to is named.
type payloadFault struct {
	what string // the argument or the result
	err  error
}

// Error implements error.
func (f *payloadFault) Error() string { return f.err.Error() }

// Unwrap returns the error of the codec.
func (f *payloadFault) Unwrap() error { return f.err }

// payloadError says what is wrong with an argument or a result of a call.
func payloadError(key placement.Key, method, what string, err error) error {
	return fmt.Errorf("%w: the %s of %s of %s: %w", ErrPayload, what, clip(method), clip(key.String()), err)
}

// clip shortens a text from outside for an error.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
