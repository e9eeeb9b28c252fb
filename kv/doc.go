// SPDX-License-Identifier: Apache-2.0

// Package kv is FoundationDB's transaction contract as Go interfaces.
//
// Every layer of this module (tuple keys, directories, records, leases) uses an
// engine through this package only, so that one program runs unchanged on the
// embedded engine and on a FoundationDB cluster:
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
// one version of the database, which its first read fixes. Its own reads see its
// writes before the commit (read-your-writes). [Transaction.Commit] succeeds only
// if no other transaction has written to what it read since its read version,
// absent keys and empty ranges included. Reads through [ReadTransaction.Snapshot]
// see the same version but do not conflict.
//
// # Retries
//
// A function given to [Transactor.Transact] may run more than once, even after
// an attempt that committed but lost its acknowledgement (error 1021,
// see [IsMaybeCommitted]). It must have no effect outside the transaction: it must
// not append to captured slices, make IDs or read a clock.
//
// After such an attempt an error of the function, too, says that the outcome is
// unknown (see [IsOutcomeUnknown]). A function that refuses to pay an invoice twice
// may find the payment of its own first attempt:
//
//	err := db.Transact(ctx, func(tx kv.Transaction) error { return pay(ctx, tx) })
//	switch {
//	case kv.IsOutcomeUnknown(err): // this call, or another one, has paid: read who
//	case errors.Is(err, errPaid): // another one has paid; this call wrote nothing
//	}
//
// # Bytes
//
// A call copies the keys and values that it is given before it returns. Returned
// keys and values may be shared: the caller must not modify them, but may append to
// them. A nil value means that the key is absent; a present, empty value is not nil.
//
// # Concurrency
//
// A [Database] is safe for concurrent use. A [Transaction] may be used from
// several goroutines for reads and writes that do not depend on each other's
// order; [Transaction.Commit], [Transaction.OnError] and [Transaction.Reset]
// must not overlap with other calls.
//
// Every engine enforces the limits of FoundationDB ([MaxKeySize], [MaxValueSize],
// [MaxTransactionSize], [MaxTransactionAge]).
package kv
