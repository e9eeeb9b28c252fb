// SPDX-License-Identifier: Apache-2.0

// Package store declares the store of the ID service: sequences of numbers, and
// documents such as configurations and tokens. The packages below implement it:
// file, redis, mysql, postgres, and kvstore for FoundationDB and the embedded
// engine. storetest checks an implementation.
//
//	s, err := file.Open("./data", file.Options{})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	if err := s.Init(ctx); err != nil { // creates or migrates the schema
//		return err
//	}
//	r, err := s.Reserve(ctx, "orders", store.Reservation{Step: 1, Count: 1000, Bound: math.MaxInt64})
//	// the numbers from r.From+1 to r.To are the caller's alone
//
// # Uniqueness
//
// [Store.Reserve] is one atomic operation in each implementation: it moves the
// sequence durably before it returns, so that no two calls return a number in
// common, whatever processes, clocks and connections do. A call with an unknown
// outcome may have moved the sequence: its numbers are lost, never given twice.
package store
