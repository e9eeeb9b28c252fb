// SPDX-License-Identifier: Apache-2.0

// Package election elects one leader among processes that share a database: a
// FoundationDB cluster, or the embedded engine for goroutines of one process.
//
//	e, err := election.New(db, "invoices", election.Options{})
//	err = e.Run(ctx, func(ctx context.Context, term election.Term) error { // campaigns; leads; campaigns again
//		db := term.Under(db) // what is written through it is written in this term, or not at all
//		for ctx.Err() == nil { // ends when leadership may be lost
//			if err := sendInvoices(ctx, db); err != nil {
//				return err
//			}
//		}
//		return context.Cause(ctx)
//	})
//
// # Terms
//
// A term has a rank, greater than that of every term before: the epoch of a named
// lease of package leasefdb. [Term.Under] and, for the stores of package persistable,
//
//	orders := OrderStoreOf(records.Under(term.Fence()), "tenant-1")
//
// let a transaction commit only while the term is in force. The transaction reads a
// key that is written exactly when the leader changes, so the engine's conflict
// detection decides, not a clock. Transactions under terms commit in the order of
// ranks, never two terms interleaved, even if a leader was suspended and has not
// noticed that it was deposed. A system outside of the database can do the same by
// refusing a rank that is smaller than one it has seen.
//
// The context that the function gets ends when leadership may be lost: when the
// lease was not renewed for its duration, counted from before the claim or renewal
// began; when the database says that the lease was lost; and after
// [Election.Resign]. Its cause says which: a [*leasefdb.LostError], which is an
// [ErrDeposed], or [ErrResigned]. With a wrong clock the context may end late; the
// fence holds nevertheless.
//
// # How long it takes
//
// A leader renews its lease three times during the lease's duration. Standbys watch
// the key. Each renewal is a contact for them, as heartbeats are for Raft's
// followers: their election timeout, by package rafttimer, is the lease's duration
// and a random part of Options.ElectionTimeout. So the next leader leads
//
//   - after a resignation: one latency of a watch and one transaction later;
//   - after a crash: Options.Duration and Options.ElectionTimeout after the last renewal at the
//     latest, and one transaction.
//
// The first holds for standbys of the highest registered priority, the second for
// all. If the engine gives no watch, a standby reads the key three times during a
// lease, and both take that much longer. No clocks are compared: a standby takes
// over when the lease has not changed for its whole duration on the standby's own
// monotonic clock. The engine's versions, which jump when a cluster recovers, do
// not matter.
//
// # Priorities
//
// Standbys register in the database, with their priority. A registration is removed
// when its standby ends. If a standby did not renew it for a lease, the leader's
// next renewal removes it. When there is no leader, a standby that sees a
// registration of higher priority waits for half of the ElectionTimeout before it
// claims the name itself. So the standby of higher priority goes first if it is
// alive; if it is dead or slow it delays the others once. A priority deposes no
// leader: a leader leads until it resigns or fails. Priorities do not affect
// safety.
//
// # Where it runs
//
// Elections run on every engine of package kv. They need a database: lease/http
// serves leases of machine ids, but no named leases.
//
// # Transactions
//
// A campaign's transactions are its own. Those of a leader go through [Term.Under],
// [Term.Fence] or [Term.Check]; they conflict with a change of the leader, never with a
// renewal.
//
// # Concurrency
//
// All methods are safe for concurrent use; an Election runs once at a time.
package election
