// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// Wrap returns a transaction of the official binding as a [kv.Transaction], so
// that the layers of this module run in it, next to code that uses the binding:
//
//	_, err := database.Transact(func(tr fdb.Transaction) (any, error) {
//		tr.Set(fdb.Key("mine"), nil)
//		return nil, fdbkv.ForBinding(layer(ctx, fdbkv.Wrap(tr)))
//	})
//
// Commit and retry belong to the caller: Commit and CommitAsync return
// [ErrWrapped], and OnError returns the error that it is given. Cancel cancels
// the binding's transaction, and Reset does so too, since it must not forget
// what the caller wrote. Contexts that end interrupt waiting, but do not cancel
// the transaction unless a retry loop of package kv runs on it. Watches live
// until they fire, are cancelled or are garbage.
//
// tr must have been made with [APIVersion]. The result may be used as long as
// tr, and is wrapped once for each attempt: after the caller has reset tr, wrap it
// again.
func Wrap(tr fdb.Transaction) kv.Transaction {
	t := newTransaction(nil, false)
	t.beginAttempt(newAttempt(&handle{c: pointerIn(tr), lent: tr}, t.versions))
	return t
}

// Unwrap returns the binding's transaction below one that this package made, and
// whether there is one. What is written with either is part of the same
// transaction. Commit, reset and retry it with one of them only.
func Unwrap(tx kv.Transaction) (fdb.Transaction, bool) {
	t, ok := tx.(*transaction)
	if !ok {
		return fdb.Transaction{}, false
	}
	a, err := t.ownAttempt()
	if err != nil {
		return fdb.Transaction{}, false
	}
	a.version.leave()
	return a.lend(t.db)
}

// The binding has no way from and to the client's pointers, which it keeps in structs
// that it does not export: fdb.Database has a field database, fdb.Transaction a field
// transaction, each a pointer to a struct with a field ptr that is the client's. These are
// the only functions of the package that know.

// pointerIn returns the client's pointer in a transaction of the binding.
func pointerIn(tr fdb.Transaction) *cTransaction {
	inner := field(reflect.ValueOf(&tr).Elem(), "transaction", reflect.Pointer)
	return (*cTransaction)(field(inner.Elem(), "ptr", reflect.Pointer).UnsafePointer())
}

// wrapPointer makes the client's pointer a database or transaction of the binding, and
// returns the pointer to its inner struct.
func wrapPointer(outer any, name string, c unsafe.Pointer) reflect.Value {
	embedded := field(reflect.ValueOf(outer).Elem(), name, reflect.Pointer)
	inner := reflect.New(embedded.Type().Elem())
	*(*unsafe.Pointer)(field(inner.Elem(), "ptr", reflect.Pointer).Addr().UnsafePointer()) = c
	embedded.Set(inner)
	return inner
}

// field returns a field of a struct of the binding, which can be set.
func field(of reflect.Value, name string, kind reflect.Kind) reflect.Value {
	f := of.FieldByName(name)
	if !f.IsValid() || f.Kind() != kind {
		panic(fmt.Sprintf("fdbkv: this version of the FoundationDB Go binding has no %s %q in %v: Wrap and Unwrap need the version that go.mod of kazahana names",
			kind, name, of.Type()))
	}
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}

// clientError is an error of the client. errors.As finds in it the *[kv.Error]
// that this module's retry loops look for, and the [fdb.Error] that the
// binding's look for: code that was given a transaction by [Wrap] can return it.
type clientError struct{ kv *kv.Error }

func (e *clientError) Error() string { return e.kv.Error() }

// Unwrap returns the error in both forms.
func (e *clientError) Unwrap() []error { return []error{e.kv, fdb.Error{Code: int(e.kv.Code)}} }

// newReadError is newError for other calls than a commit.
func newReadError(code kv.Code, what string) error {
	err := newError(code, what)
	err.kv.Read = true
	return err
}

// newError returns the error of a code; what is the call that it was met in.
func newError(code kv.Code, what string) *clientError {
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
// recognize it: an error with a chain that has a *[kv.Error] but no [fdb.Error] gets
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

// fromBinding is the other direction: an error with a chain that has an [fdb.Error]
// but no *[kv.Error] gets one.
func fromBinding(err error) error {
	var ours *kv.Error
	var theirs fdb.Error
	if err == nil || errors.As(err, &ours) || !errors.As(err, &theirs) {
		return err
	}
	return fmt.Errorf("%w: %w", err, newError(kv.Code(theirs.Code), "of the binding"))
}
