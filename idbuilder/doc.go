// SPDX-License-Identifier: Apache-2.0

// Package idbuilder serves IDs over HTTP, to programs in any language: numbers of a
// sequence, texts of parts, and worker ids for snowflake IDs. It never gives an ID
// twice, whatever crashes. The command cmd/idbuilder runs it; as a library it is an
// http.Handler:
//
//	s, err := kvstore.New(db, kvstore.Options{})
//	if err != nil {
//		return err
//	}
//	if err := s.Init(ctx); err != nil {
//		return err
//	}
//	w, err := idbuilder.NewWorker(s, idbuilder.Options{})
//	if err != nil {
//		return err
//	}
//	defer w.Close(ctx)
//	http.Handle("/ids/", http.StripPrefix("/ids", w))
//
// # Uniqueness
//
// A worker reserves ranges of numbers in the store, in one atomic operation each, and
// gives them from memory. Numbers that a worker has left when it crashes are a gap. The IDs of a
// key increase strictly on one worker; those of several workers have no common
// order.
//
// # Dialects
//
// It serves clients of the specification and clients of the deployed worker: see
// docs/idbuilder.md.
package idbuilder
