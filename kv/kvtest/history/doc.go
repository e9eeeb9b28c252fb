// SPDX-License-Identifier: Apache-2.0

// Package history checks the isolation of an engine: it runs random transactions
// at once, records what each read and wrote, and looks for contradictions.
//
//	func TestSerializable(t *testing.T) {
//		db := openEngine(t)
//		for range 10 {
//			load := history.LoadOptions{Seed: rand.Uint64(), Goroutines: 8}
//			history.CheckSerializable(t, db, load)
//			history.CheckCommitOrder(t, db, load)
//		}
//	}
//
// [CheckSerializable] finds cycles among transactions and names them as Adya does
// ("Weak Consistency: A Generalized Theory and Optimistic Implementations for
// Distributed Transactions", 1999). [CheckCommitOrder] runs the transactions again
// on a sorted map, in the order of their versionstamps.
//
// Both replace everything below \xff, and nothing else may use the database
// meanwhile.
package history
