// SPDX-License-Identifier: Apache-2.0

// Package kvstore records which member has which key in a database of package kv, a
// FoundationDB cluster or the engine in this process. It implements locks and
// entries for package internal/placement/driver. A claim is the row of the activation.
//
//	members, err := membership.New(db, membership.Options{})
//	home, err := kvstore.New(db, kvstore.Options{Members: members})
//	lease, err := home.TryAcquire(ctx, core.TryAcquire{RequestID: 1, Key: key, Owner: me, Address: address})
//	err = home.Store(ctx, lease, entry)
//	fence := home.Fence(key, me, lease.Epoch)
//	err = fence.Under(db).Transact(ctx, func(tx kv.Transaction) error {
//		tx.Set(balance, value) // commits only while me has the key under the epoch
//		return nil
//	})
//	err = home.Remove(ctx, key, me, lease.Epoch)
//
// # Two transactions
//
// A claim reads the row of the key, the entry, and whether the claimant is alive,
// in one round. It writes the row if the key is free, is the claimant's, or belongs
// to a dead owner. Checking another owner takes one more round. A confirmation
// writes the entry, if the row is still as the claim left it. No more transactions
// are needed: leases are kept, see [core.Lease], and last as long as their
// owner lives.
//
// # The fence
//
// The row of a key is written when the ownership changes, by a claim, a release or
// a removal, and never by a confirmation. A transaction under [Store.Fence] reads
// it, so the engine refuses the commit if the key has been claimed since. The check
// uses no clock. Neither the confirmation nor another operation of the owner, while
// it has the key, conflicts with its transactions. The epoch in the row only grows,
// also over removals, and is never used again.
//
// # Owners
//
// [Liveness] tells which owners are alive; package placement/membership does. The claimant
// must also be alive, and the claim conflicts with its eviction: a member that was
// evicted gets nothing any more. It keeps its rows until another owner claims them. Rows of dead
// owners are claimed when they are needed; no process sweeps them.
//
// # Unknown outcomes
//
// A repeated claim finds its own grant, by owner and request id, and returns it.
// The other operations may also be repeated. An error with an unknown outcome is a
// [placement.ErrUnavailable], and wraps the engine's error.
//
// Everything in this package is safe for concurrent use. docs/layout.md has the keys.
package kvstore
