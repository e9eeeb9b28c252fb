// SPDX-License-Identifier: Apache-2.0

// Package kvstore keeps the state of the ID service in a database of package kv:
// a FoundationDB cluster, or the engine in this process.
//
//	db, err := embedded.Open("./data")
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
// keys. Each call is one transaction. Each reads the schema's version. So a program
// that knows only an older schema stops when a newer program migrates, and a
// directory that was emptied or removed gives [store.ErrNoSchema], never a sequence
// that starts anew.
//
// # Unknown outcomes
//
// A commit is tried again if its acknowledgement is lost. Written values contain a
// random mark, by which the next attempt recognises the writes of the one before.
// If another caller has written since, a reservation takes the numbers after those
// that its first attempt may have taken, and other calls have an unknown outcome:
// the error wraps [kv.ErrOutcomeUnknown].
//
// Everything in this package is safe for concurrent use.
package kvstore
