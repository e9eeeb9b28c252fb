// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"errors"
	"fmt"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// clientError is an error of the client. errors.As finds in it the *[kv.Error]
// that this module's retry loops look for, and the [fdb.Error] that the
// binding's look for: code that was given a transaction by [Wrap] can return it.
type clientError struct{ kv *kv.Error }

func (e *clientError) Error() string { return e.kv.Error() }

// Unwrap returns the error in both forms.
func (e *clientError) Unwrap() []error { return []error{e.kv, fdb.Error{Code: int(e.kv.Code)}} }

// newError returns the error of a code; what is the call that it was met in.
func newError(code kv.Code, what string) error {
	detail := what
	if code.String() == unlisted {
		detail += ": " + describeCode(cCode(code))
	}
	return &clientError{&kv.Error{Code: code, Detail: detail}}
}

var unlisted = kv.Code(-1).String()

// codeError returns the error of a code, or nil for 0.
func codeError(code cCode, what string) error {
	if code == 0 {
		return nil
	}
	return newError(kv.Code(code), what)
}

// ForBinding returns err so that the retry loops of the official binding, too,
// recognize it: an error whose chain has a *[kv.Error] but no [fdb.Error] gets
// one. Return its result from a function that the binding runs and that calls
// layers on a [Wrap]ped transaction. Errors made by the engine itself need it not.
func ForBinding(err error) error {
	var ours *kv.Error
	var theirs fdb.Error
	if !errors.As(err, &ours) || errors.As(err, &theirs) {
		return err
	}
	return fmt.Errorf("%w: %w", err, fdb.Error{Code: int(ours.Code)})
}

// fromBinding is the other direction: an error whose chain has an [fdb.Error]
// but no *[kv.Error] gets one.
func fromBinding(err error) error {
	var ours *kv.Error
	var theirs fdb.Error
	if err == nil || errors.As(err, &ours) || !errors.As(err, &theirs) {
		return err
	}
	return fmt.Errorf("%w: %w", err, newError(kv.Code(theirs.Code), "of the binding"))
}
