// SPDX-License-Identifier: Apache-2.0

// Package leasefdb keeps leases in a database: named leases, for locks and
// elections, and leases of machine ids, from which processes make unique IDs. Both
// work on every engine of package kv.
//
//	names, err := leasefdb.NewNames(db, nil)
//	lease, err := names.Acquire(ctx, "invoices", leasefdb.Claim{}) // waits; TryAcquire does not
//	defer lease.Release(ctx)
//	err = db.Transact(ctx, func(tx kv.Transaction) error {
//		if err := lease.Check(ctx, tx); err != nil { // commits only while the lease is held
//			return err
//		}
//		tx.Set(key, value)
//		return nil
//	})
//	work(lease.Context()) // ends with the cause ErrLeaseLost or ErrReleased
//
// Machine ids come from a [Provider], for an [idgen.Client]; package
// persistable makes both for each database that it opens:
//
//	leases, err := leasefdb.New(db, leasefdb.Options{})
//	ids, err := idgen.NewClient(idgen.Options{Provider: leases})
//	id, err := ids.Next(ctx)
//	defer ids.Shutdown(ctx)
//
// # Safety does not depend on clocks
//
// A holder that has lost its lease may not have noticed: it was suspended, or its
// clock runs slowly. Its transactions with [Grant.Check] fail nevertheless, by the
// engine's conflict detection: the check reads the fence key, which is written
// exactly when the holder changes. No clock takes part. [Fence.Under] adds the
// check to every transaction of a database.
//
// A process takes over a lease without comparing clocks. Holders count their
// renewals in a separate key. A process that waits watches the count, and takes
// over when the count has not changed for the whole duration of the lease on its
// own monotonic clock. So a takeover comes a full duration after a holder's death;
// a release hands over at once. A renewal reads the fence key and adds to the
// count, so it conflicts with no transaction of its holder.
//
// No two leases of machine ids share a position at a time (see package lease), so
// IDs are unique whatever clocks say. [Provider.FenceOf] gives a fence of an ID's
// machine id, for data in the same database.
//
// # Epochs
//
// Each grant of a name has an epoch, greater than those of all grants before. The
// database keeps it after a release, so that it is never used again. A system
// outside of the database can refuse commands with a smaller epoch than it has
// seen.
//
// # Transactions
//
// Every operation takes a database or a transaction. With a database it is a
// transaction of its own, which may be repeated after a lost acknowledgement. With
// the caller's transaction of the same database it is a part of that.
//
// # Concurrency
//
// [Names], [Lease], [Store] and [Provider] are safe for concurrent use; [Grant], [Fence], [State] and
// [Observation] are values.
//
// The two keys, for fence and renewals, are those of the record layer's
// synchronized sessions. The rule for a takeover is that of foundationdb-rs's
// leader election.
package leasefdb
