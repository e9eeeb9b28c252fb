// SPDX-License-Identifier: Apache-2.0

// Package election elects one leader among processes, by a database that they share:
// a FoundationDB cluster, or the embedded engine for goroutines of one process.
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
// let a transaction commit only while the term is in force. It reads a key
// that is written exactly when the leader changes, so that the engine's conflict
// detection decides, and no clock: transactions under terms commit in the order of
// ranks, and never two terms interleaved, also where a leader was suspended and does
// not know yet. A system outside of the database can do the same by refusing a rank
// that is smaller than one it has seen.
//
// The context that the function gets ends when leadership may be lost: when the
// lease has not been renewed for as long as it lasts, counted from before the
// claim or renewal began; when the database says that it was lost; and after
// [Election.Resign]. Its cause says which: a [*leasefdb.LostError], which is an [ErrDeposed],
// or [ErrResigned]. That is a courtesy, and clocks may spoil it; the fence is the law.
//
// # How long it takes
//
// A leader renews its lease three times while it lasts. Standbys watch the key, and take each
// renewal for a contact as Raft's followers take heartbeats: their election timeout,
// by package rafttimer, is the lease and a random part of Options.ElectionTimeout.
// So the next leader leads
//
//   - after a resignation: one latency of a watch and one transaction later;
//   - after a crash: Options.Duration and Options.ElectionTimeout after the last renewal at the
//     latest, and one transaction.
//
// The first holds for standbys of the highest priority that is registered, the second for
// all. Where the engine can give no watch, a standby looks three times a lease, and both
// take that much longer. No clocks are compared: a standby takes over what has not changed
// for the whole lease on its own monotonic clock, and the engine's versions, which jump when a
// cluster recovers, are not asked.
//
// # Priorities
//
// Standbys register in the database, with their priority; a registration goes
// when its standby ends, and when it has not been renewed for a lease, at the leader's next
// renewal. At a vacancy, a standby that sees one registered of higher priority leaves it
// half of the ElectionTimeout before it claims the name itself. So the one of higher
// priority goes first if it is alive, and one that is dead or slow delays the others once. A
// priority deposes no leader: a leader leads until it resigns or fails. It
// has no part in safety.
//
// # Where it runs
//
// On every engine of package kv. The leases that lease/http serves are those of
// machine ids; it has no named leases, so that elections need a database.
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
