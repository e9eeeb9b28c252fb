// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/intercept"
)

// ErrFault is wrapped by the errors that a [Faulty] store makes by itself.
var ErrFault = errors.New("storetest: a fault")

// Fault is the fault of one call of a [Faulty] store. The zero Fault is none.
type Fault struct {
	// Fail says that the call fails without being made.
	Fail bool
	// Lose says that the call is made and then fails: the caller does not know its outcome.
	Lose bool
	// Err is the error of a call that fails; nil: one that wraps [ErrFault].
	Err error
	// Before and After run before and after the call, if they are not nil. They
	// delay the call or its answer: to wait they block, on a channel or a clock,
	// until ctx ends at the latest.
	Before, After func(ctx context.Context)
}

// Call is the call for which decide returns a fault.
type Call struct {
	Method string // "Reserve", "Put", …: the name of the method of store.Store
	Kind   store.Kind
	Name   string // of the sequence, or the key of the document
}

// Faulty returns s with faults: decide is asked before each call but Close, from
// whatever goroutine makes it.
func Faulty(s store.Store, decide func(Call) Fault) store.Store {
	return intercept.Store{Store: s, Around: func(ctx context.Context, c intercept.Call, call func() error) error {
		return decide(Call(c)).around(ctx, Call(c), call)
	}}
}

// around makes a call with the fault.
func (f Fault) around(ctx context.Context, c Call, call func() error) error {
	if f.Before != nil {
		f.Before(ctx)
	}
	failure := f.Err
	if failure == nil {
		failure = fmt.Errorf("%w of %s %s", ErrFault, c.Method, c.Name)
	}
	if f.Fail {
		return failure
	}
	err := call()
	if f.After != nil {
		f.After(ctx)
	}
	if f.Lose {
		return failure
	}
	return err
}
