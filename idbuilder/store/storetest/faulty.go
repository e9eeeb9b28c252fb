// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/idbuilder/store"
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
// whatever goroutine makes it. A store that is a [store.Confirmer] stays one.
func Faulty(s store.Store, decide func(Call) Fault) store.Store {
	f := faulty{inner: s, decide: decide}
	if confirmer, ok := s.(store.Confirmer); ok {
		return faultyConfirmer{f, confirmer}
	}
	return f
}

type faulty struct {
	inner  store.Store
	decide func(Call) Fault
}

type faultyConfirmer struct {
	faulty
	confirmer store.Confirmer
}

// Confirm implements [store.Confirmer].
func (f faultyConfirmer) Confirm(ctx context.Context, skip int64) error {
	return f.callWithFault(ctx, Call{Method: "Confirm"}, func() error { return f.confirmer.Confirm(ctx, skip) })
}

// callWithFault makes a call with its fault.
func (f faulty) callWithFault(ctx context.Context, c Call, call func() error) error {
	fault := f.decide(c)
	if fault.Before != nil {
		fault.Before(ctx)
	}
	failure := fault.Err
	if failure == nil {
		failure = fmt.Errorf("%w of %s %s", ErrFault, c.Method, c.Name)
	}
	if fault.Fail {
		return failure
	}
	err := call()
	if fault.After != nil {
		fault.After(ctx)
	}
	if fault.Lose {
		return failure
	}
	return err
}

func answer[T any](ctx context.Context, f faulty, c Call, call func() (T, error)) (T, error) {
	var result T
	err := f.callWithFault(ctx, c, func() (err error) {
		result, err = call()
		return err
	})
	if err != nil {
		result = *new(T)
	}
	return result, err
}

func (f faulty) Init(ctx context.Context) error {
	return f.callWithFault(ctx, Call{Method: "Init"}, func() error { return f.inner.Init(ctx) })
}

func (f faulty) Reserve(ctx context.Context, name string, r store.Reservation) (store.Range, error) {
	return answer(ctx, f, Call{Method: "Reserve", Name: name}, func() (store.Range, error) { return f.inner.Reserve(ctx, name, r) })
}

func (f faulty) Sequence(ctx context.Context, name string) (store.Sequence, error) {
	return answer(ctx, f, Call{Method: "Sequence", Name: name}, func() (store.Sequence, error) { return f.inner.Sequence(ctx, name) })
}

func (f faulty) SetSequence(ctx context.Context, name string, value, version int64) error {
	return f.callWithFault(ctx, Call{Method: "SetSequence", Name: name}, func() error { return f.inner.SetSequence(ctx, name, value, version) })
}

func (f faulty) DeleteSequence(ctx context.Context, name string) (bool, error) {
	return answer(ctx, f, Call{Method: "DeleteSequence", Name: name}, func() (bool, error) { return f.inner.DeleteSequence(ctx, name) })
}

func (f faulty) Get(ctx context.Context, kind store.Kind, key string) (store.Document, error) {
	return answer(ctx, f, Call{"Get", kind, key}, func() (store.Document, error) { return f.inner.Get(ctx, kind, key) })
}

func (f faulty) Put(ctx context.Context, kind store.Kind, d store.Document) (int64, error) {
	return answer(ctx, f, Call{"Put", kind, d.Key}, func() (int64, error) { return f.inner.Put(ctx, kind, d) })
}

func (f faulty) Delete(ctx context.Context, kind store.Kind, key string, version int64) error {
	return f.callWithFault(ctx, Call{"Delete", kind, key}, func() error { return f.inner.Delete(ctx, kind, key, version) })
}

func (f faulty) List(ctx context.Context, kind store.Kind, o store.ListOptions) ([]store.Document, error) {
	return answer(ctx, f, Call{Method: "List", Kind: kind}, func() ([]store.Document, error) { return f.inner.List(ctx, kind, o) })
}

func (f faulty) Revision(ctx context.Context) (int64, error) {
	return answer(ctx, f, Call{Method: "Revision"}, func() (int64, error) { return f.inner.Revision(ctx) })
}

func (f faulty) Advance(ctx context.Context) (int64, error) {
	return answer(ctx, f, Call{Method: "Advance"}, func() (int64, error) { return f.inner.Advance(ctx) })
}

func (f faulty) Ping(ctx context.Context) error {
	return f.callWithFault(ctx, Call{Method: "Ping"}, func() error { return f.inner.Ping(ctx) })
}

func (f faulty) Close() error { return f.inner.Close() }
