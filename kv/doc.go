// SPDX-License-Identifier: Apache-2.0

// Package kv is FoundationDB's transaction contract as Go interfaces.
//
// Every layer of this module (tuple keys, directories, records, leases) is
// written against this package alone, so that one program runs unchanged on
// the embedded engine and on a FoundationDB cluster:
//
//	err := db.Transact(ctx, func(tx kv.Transaction) error {
//		balance, err := tx.Get([]byte("balance")).Get(ctx) // a future: start several, then wait
//		if err != nil {
//			return err // always return or wrap with %w: the retry loop looks at it
//		}
//		tx.Set([]byte("balance"), credit(balance, 10))
//		tx.Atomic(kv.Add, []byte("deposits"), kv.Int64(1))
//		return nil // commits; a conflict runs the function again
//	})
//
// # Isolation
//
// Transactions are strictly serializable and optimistic. A transaction reads
// one version of the database, fixed by its first read; its writes are kept
// aside and seen by its own reads (read-your-writes); [Transaction.Commit]
// succeeds only if nothing that the transaction read, absent keys and empty
// ranges included, was written since its read version. Reads through
// [ReadTransaction.Snapshot] see the same version but do not conflict.
//
// # Retries
//
// A function given to [Transactor.Transact] may run more than once, also after
// an attempt that did commit but whose acknowledgement was lost (error 1021,
// see [IsMaybeCommitted]). It must have no effect outside the transaction:
// no appending to captured slices, no ids or clocks read inside it.
//
// # Bytes
//
// Keys and values given to a call are copied before it returns. Keys and
// values that a call returns may be shared and must not be modified; to append
// to them is no modification. A nil value means that the key is absent; a
// present, empty value is not nil.
//
// # Concurrency
//
// A [Database] is safe for concurrent use. A [Transaction] may be used from
// several goroutines for reads and writes that do not depend on each other's
// order; [Transaction.Commit], [Transaction.OnError] and [Transaction.Reset]
// must not overlap with other calls.
//
// The limits of FoundationDB ([MaxKeySize], [MaxValueSize],
// [MaxTransactionSize], [MaxTransactionAge]) hold on every engine.
package kv
