// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Evict ends the membership of an owner, alive or not, and reports whether it was one: for an
// operator that knows of its end and does not want to wait. A member that is still alive sees the
// end of its context.
func (r *Registry) Evict(ctx context.Context, owner placement.Owner) (bool, error) {
	return r.evictWith(ctx, owner, func(tx kv.Transaction, state leasefdb.State) (bool, error) {
		return true, r.names.Break(ctx, tx, owner.Name, state.Epoch)
	})
}

// evictLapsed evicts an owner whose lease has lapsed and has not been renewed since it
// was observed.
func (r *Registry) evictLapsed(ctx context.Context, owner placement.Owner, seen leasefdb.Observation) (bool, error) {
	return r.evictWith(ctx, owner, func(tx kv.Transaction, _ leasefdb.State) (bool, error) {
		return r.names.BreakLapsed(ctx, tx, owner.Name, seen)
	})
}

// evictWith removes the row of an owner in one transaction. If the owner has a lease, take
// ends it, or returns false if it may not.
func (r *Registry) evictWith(ctx context.Context, owner placement.Owner, take func(kv.Transaction, leasefdb.State) (bool, error)) (bool, error) {
	return kv.Transact(ctx, r.db, func(tx kv.Transaction) (bool, error) {
		k, found, err := r.openKeys(ctx, tx)
		if err != nil || !found {
			return false, err
		}
		at, holding := k.member(owner.Name), r.names.StartHolder(ctx, tx, owner.Name)
		value, err := tx.Get(at).Get(ctx)
		if err != nil || value == nil {
			return false, err
		}
		state, err := holding.Wait(ctx)
		if err != nil || !rowIsOf(owner, value, state) {
			return false, err
		}
		if state.Held() && isOf(state, owner) {
			if taken, err := take(tx, state); err != nil || !taken {
				return false, err
			}
		}
		tx.Clear(at)
		k.bumpVersion(tx)
		return true, nil
	})
}

// rowIsOf reports whether a row is that of an owner. For one that cannot be read the lease of the
// name says it, which a member has as long as it lives.
func rowIsOf(owner placement.Owner, value []byte, state leasefdb.State) bool {
	row, err := decode(owner.Name, value)
	if err != nil {
		return !state.Held() || isOf(state, owner)
	}
	return row.Incarnation == owner.Incarnation
}
