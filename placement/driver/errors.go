// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/placement"
)

// BusyError says that an idle activation was not ended, because it was used in the
// meantime.
type BusyError struct {
	UsedAt time.Time // not the zero time
}

// Error implements error.
func (e *BusyError) Error() string {
	return fmt.Sprintf("driver: the activation was used at %v", e.UsedAt.Format(time.RFC3339Nano))
}

// PanicError says that a home or an executor has panicked, or called
// runtime.Goexit. The operation may have taken effect.
type PanicError struct {
	Value any // of the panic; nil: runtime.Goexit was called
	Stack []byte
}

// Error implements error. It has the stack in it.
func (e *PanicError) Error() string {
	if e.Value == nil {
		return fmt.Sprintf("driver: the command called runtime.Goexit\n%s", e.Stack)
	}
	return fmt.Sprintf("driver: the command panics: %v\n%s", e.Value, e.Stack)
}

// Unwrap returns the value of the panic, if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Retryable returns false, even if the panic's value is a retryable error: a resolve must not
// cause the panic again at once.
func (e *PanicError) Retryable() bool { return false }

// HungError says that a home or an executor has not returned in time. The operation
// may have taken effect, or take effect later. It is a context.DeadlineExceeded.
type HungError struct {
	Command string // the method that was called
	After   time.Duration
}

// Error implements error.
func (e *HungError) Error() string {
	return fmt.Sprintf("driver: %s has not returned after %v", e.Command, e.After)
}

// Unwrap returns context.DeadlineExceeded.
func (e *HungError) Unwrap() error { return context.DeadlineExceeded }

// Retryable returns true: the next call may return.
func (e *HungError) Retryable() bool { return true }

// StopError says what the driver had not handed back when the context of [Driver.Stop]
// ended. The driver goes on handing back while [Driver.Run] or Stop runs.
type StopError struct {
	Held     int                        // activations, requests and leases
	Requests []placement.PendingRequest // at most 100 of the running ones
	Err      error                      // the cause of the context's end
}

// Error implements error.
func (e *StopError) Error() string {
	text := fmt.Sprintf("driver: %d activations, requests and leases are not handed back: %v", e.Held, e.Err)
	if len(e.Requests) > 0 {
		text += fmt.Sprintf("; first %s, in step %s of epoch %d", e.Requests[0].Key, e.Requests[0].Step, e.Requests[0].Epoch)
	}
	return text
}

// Unwrap returns the cause of the context's end.
func (e *StopError) Unwrap() error { return e.Err }
