// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv

import (
	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/kazahana-db/kazahana/kv"
)

// Wrap returns a transaction of the official binding as a [kv.Transaction], so
// that the layers of this module run in it, beside code that uses the binding:
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
func Wrap(tr fdb.Transaction) kv.Transaction { return newTransaction(nil, tr) }

// Unwrap returns the binding's transaction below one that this package made, and
// whether there is one. What is written with either is part of the same
// transaction. Commit, reset and retry it with one of them only.
func Unwrap(tx kv.Transaction) (fdb.Transaction, bool) {
	t, ok := tx.(*transaction)
	if !ok {
		return fdb.Transaction{}, false
	}
	if _, err := t.ownAttempt(); err != nil {
		return fdb.Transaction{}, false
	}
	return t.tr, true
}
