// SPDX-License-Identifier: Apache-2.0

// Package kvstore keeps the state of the ID service in a database of package kv:
// a FoundationDB cluster, or the engine in this process.
//
//	db, err := embedded.Open("./data", embedded.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	s, err := kvstore.New(db, kvstore.Options{})
//	if err != nil {
//		return err
//	}
//	if err := s.Init(ctx); err != nil {
//		return err
//	}
//
// Everything lies in one directory of the directory layer; docs/layout.md has its
// keys. Each call is one transaction. All of them read the schema's version:
// so a program that knows only an older schema stops when a newer one migrates,
// and a directory that was emptied or removed is [store.ErrNoSchema], never a
// sequence that starts anew.
//
// # Unknown outcomes
//
// A commit whose acknowledgement is lost is tried again. What is written carries
// a random mark, by which the next attempt recognises what the one before wrote. If
// another caller has written since, a reservation takes the numbers
// behind those that were perhaps taken, and other calls have an unknown
// outcome: the error wraps [kv.ErrOutcomeUnknown].
//
// Everything lies in one directory of the directory layer; docs/layout.md has its
// keys. Each call is one transaction. All of them read the schema's version:
// so a program that knows only an older schema stops when a newer one migrates,
// and a directory that was emptied or removed is [store.ErrNoSchema], never a
// sequence that starts anew.
//
// # Unknown outcomes
//
// A commit whose acknowledgement is lost is tried again. A reservation then takes
// the numbers behind those that the first attempt may have taken. Puts and set
// values carry a random mark, by which the second attempt recognises what
// the first one wrote. Only if another caller has written since is the outcome
// unknown: the error then wraps [kv.ErrOutcomeUnknown].
//
// Everything in this package is safe for concurrent use.
package kvstore
