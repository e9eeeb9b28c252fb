// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is returned by the methods of a [Driver] that is closed.
	ErrClosed = errors.New("rafttimer: closed")
	// ErrRole is returned by the verbs of single timers if the role that the node
	// has says otherwise. It comes as a [*RoleError].
	ErrRole = errors.New("rafttimer: the role forbids it")
)

// ConfigError is a fault of one field of a [Config].
type ConfigError struct {
	Field  string // of Config
	Value  any    // with the default where the field is zero
	Reason string
}

// Error implements error.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("rafttimer: %s is %v: it %s", e.Field, e.Value, e.Reason)
}

// RoleError says that a verb would break the rule which timer runs in which
// role. Nothing has changed. It is an [ErrRole].
type RoleError struct {
	Role Role
	Verb string // the method
}

// Error implements error.
func (e *RoleError) Error() string {
	return fmt.Sprintf("rafttimer: %s: a %v's timers are %v; change the role instead", e.Verb, e.Role, e.Role.Timers())
}

// Is reports whether target is ErrRole.
func (e *RoleError) Is(target error) bool { return target == ErrRole }

// PanicError is the panic of a callback, which its caller recovered.
type PanicError struct {
	Event Event  // that the callback was called with
	Value any    // of the panic
	Stack []byte // of the goroutine that panicked
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("rafttimer: callback of %v panicked: %v", e.Event.Kind, e.Value)
}

// Unwrap returns the value of the panic, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
