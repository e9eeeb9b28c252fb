// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"slices"

	"github.com/kazahana-db/kazahana/leasefdb"
)

// Under returns a DB on the same database whose transactions commit only while
// the fences hold, in addition to those of db: while a named lease is this
// process's, for example.
//
//	lease, err := names.Acquire(ctx, "importer", leasefdb.Claim{})
//	orders := OrderStoreOf(db.Under(lease.Fence()), "tenant-1")
//	err = orders.Save(ctx, o) // a *FenceError, once another has the lease
//
// Every transaction that writes, or that Transact runs, reads the fences'
// keys: one read for each, which costs no round of its own. Where a fence does
// not hold the transaction fails with a *[FenceError] and changes nothing; no
// clock is asked. Transactions that only read are not fenced.
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

// startFences begins to check the fences of the transaction's DB, once an
// attempt.
func (t *transaction) startFences() {
	if len(t.db.fences) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fences != nil {
		return
	}
	for _, f := range t.db.fences {
		t.fences = append(t.fences, f.Start(t.writer))
	}
}

// awaitFences returns an error if one of them does not hold.
func (t *transaction) awaitFences(ctx context.Context) error {
	if len(t.db.fences) == 0 {
		return nil
	}
	t.startFences()
	for _, f := range t.fences {
		if err := fenceError("", nil, f.Wait(ctx)); err != nil {
			return err
		}
	}
	return nil
}
