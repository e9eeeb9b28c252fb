// SPDX-License-Identifier: Apache-2.0

// Package faults has wrappers of engines for the tests of layers: one that
// behaves as badly as the contract of package kv allows, and one that counts what
// a layer asks of the engine.
//
//	func TestDeposits(t *testing.T) {
//		db := faults.HostileT(t, openEngine(t)) // every transaction runs more than once
//		counter := faults.NewCounter(db)
//		cost, err := counter.Measure(func() error { return deposit(t.Context(), counter, 10) })
//		if err != nil {
//			t.Fatal(err)
//		}
//		if cost.Rounds > 4 {
//			t.Errorf("a deposit waits for %d rounds of reads", cost.Rounds)
//		}
//	}
//
// [Hostile] loses acknowledgements, forces retries, expires transactions, cuts
// range reads into small batches, resolves futures late and out of order and
// fires watches without a change.
//
// # Concurrency and transactions
//
// A wrapped database is safe for concurrent use; a wrapped transaction is as safe
// as package kv says. The wrappers keep every law of the contract; [Options] lists
// the liberties that [Hostile] takes.
package faults
