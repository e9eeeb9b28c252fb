// SPDX-License-Identifier: Apache-2.0

// Package leasefdb keeps leases in a database: named ones, for locks and
// elections, and those of machine ids, from which processes make unique IDs. It
// is written against package kv, so both work on every engine.
//
//	names, err := leasefdb.NewNames(db, leasefdb.NameOptions{})
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
// # Clocks give liveness, never safety
//
// A holder that has lost its lease may not know yet: it was suspended, or its
// clock runs slowly. Its transactions with [Grant.Check] fail all the same, by
// the engine's conflict detection: the check reads the fence key, which is
// written exactly when the holder changes. No clock takes part. [Fence.Under]
// adds the check to every transaction of a database.
//
// A lease is taken over without comparing clocks. Holders count their renewals
// in a key of its own; a process that waits watches the count, and takes over
// when the count has not changed for the whole duration of the lease on its own
// monotonic clock. That takes a full duration after a holder's death; a release
// hands over at once. A renewal reads the fence key and adds to the count, so
// that it conflicts with no transaction of its holder.
//
// The leases of machine ids lie apart in time as well as in position, see
// package lease, so that IDs are unique whatever clocks say. [Provider.FenceOf]
// adds the check of a key, for data that is kept in the same database.
//
// # Epochs
//
// Each grant of a name has an epoch, greater than that of all grants before. It
// is kept after a release and never used again: a system outside of the
// database can refuse commands that carry a smaller epoch than it has seen.
//
// # Transactions
//
// Every operation takes a database, and is then a transaction of its own,
// repeated after a lost acknowledgement without harm; or it takes the caller's
// transaction of the same database and becomes a part of that.
//
// # Concurrency
//
// [Names], [Lease], [Store] and [Provider] are safe for concurrent use; [Grant], [Fence], [State] and
// [Observation] are values.
//
// The split of fence key and renewal key is that of the record layer's
// synchronized sessions; the judging of time that of foundationdb-rs's leader
// election.
package leasefdb
