// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"errors"
	"reflect"
	"runtime"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// handle is the client's transaction. It is valid as long as the
// fdb.Transaction that it was taken from is reachable.
type handle struct{ c *cTransaction }

// handleOf returns the client's transaction of a binding's transaction, which
// the binding keeps to itself in a field of this name (see checkBinding).
func handleOf(tr fdb.Transaction) handle {
	inner := reflect.ValueOf(tr).Field(0)
	return handle{(*cTransaction)(inner.Elem().FieldByName(handleField).UnsafePointer())}
}

const handleField = "ptr"

// checkBinding returns an error if fdb.Transaction is not made as handleOf
// expects.
func checkBinding() error {
	outer := reflect.TypeFor[fdb.Transaction]()
	if outer.NumField() == 1 && outer.Field(0).Type.Kind() == reflect.Pointer {
		inner := outer.Field(0).Type.Elem()
		if inner.Kind() == reflect.Struct {
			if f, ok := inner.FieldByName(handleField); ok && f.Type.Kind() == reflect.Pointer {
				return nil
			}
		}
	}
	return errors.New("fdbkv: this version of the FoundationDB Go binding keeps its transactions in another way; use the version that go.mod of kazahana names")
}

// attempt is what a transaction does between two resets: its futures keep it
// alive, and with it the client's transaction. When the last of them is garbage,
// so are the results that nobody took.
type attempt struct {
	handle
	tr      fdb.Transaction // keeps handle valid
	futures *futures
	group   *group // nil: handle belongs to this transaction alone
}

// newAttempt returns an attempt on a transaction of the client, which a group
// shares, if there is one.
func newAttempt(h handle, tr fdb.Transaction, g *group) *attempt {
	return &attempt{handle: h, tr: tr, futures: &futures{}, group: g}
}

// await returns the future of c.
func await[T any](a *attempt, c *cFuture, what string, take func(*cFuture) (T, cCode)) kv.Future[T] {
	return kv.NewFuture[T](newPending(a, kept{c: c}, what, take))
}

func newPending[T any](a *attempt, k kept, what string, take func(*cFuture) (T, cCode)) *pending[T] {
	return &pending[T]{attempt: a, owner: a.futures, slot: a.futures.add(k), what: what, take: take, c: k.c}
}

// awaitWatch returns a future that does not keep its transaction alive, and is
// freed when it is garbage.
func awaitWatch(owner *futures, c *cFuture) kv.Future[struct{}] {
	p := &pending[struct{}]{owner: owner, slot: owner.add(kept{c: c}), what: "watch", take: takeNothing, c: c}
	p.cleanup = runtime.AddCleanup(p, owner.abandon, p.slot)
	return kv.NewFuture[struct{}](p)
}
