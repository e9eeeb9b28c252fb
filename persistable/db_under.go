// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"slices"

	"github.com/kazahana-db/kazahana/leasefdb"
)

// Under returns a DB on the same database whose transactions commit only while
// the fences hold, in addition to those of db: while a named lease is this
// process's, for example.
//
//	lease, err := names.Acquire(ctx, "importer", leasefdb.Claim{})
//	orders := OrderStoreOf(db.Under(lease.Fence()), "tenant-1")
//	err = orders.Save(ctx, o) // a *FenceError, once another process has the lease
//
// Every transaction that writes, or that Transact runs, reads the key of each
// fence, in the round of its other reads. If a fence does not hold, the transaction
// fails with a *[FenceError] and changes nothing; no clock is read. Transactions
// that only read are not fenced.
//
// Stores made of the result and stores made of db cannot share a transaction.
// Closing either DB closes both.
func (db *DB) Under(fences ...leasefdb.Fence) *DB {
	db.mustBeOpen()
	fenced := *db
	fenced.places = newPlaceTable(db.options.CacheSize)
	fenced.fences = slices.Concat(db.fences, fences)
	return &fenced
}
