// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"

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

// evictLapsed evicts an owner if its lease has lapsed and has not been renewed since it
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
		state, err := holding(ctx)
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

// Forget removes all members, alive or not, gives the cluster a new id, and returns how many members
// it has removed. Call it in a copy of a database, before the first process joins there: the copy lists
// the members of the original and has its id, so that its processes could call those of the original. A
// process that is a member of the copy already sees the end of its context, and joins anew. It can be
// repeated. One transaction. Without a directory of members it does nothing. Leases that cannot be read
// keep no member in the list: the error names each, a [leasefdb.ErrState], once all are forgotten. Nobody
// can join under these names until the leases are restored.
func (r *Registry) Forget(ctx context.Context) (forgotten int, err error) {
	id := newClusterID()
	var unread error
	err = r.db.Transact(ctx, func(tx kv.Transaction) error {
		k, found, err := r.openKeys(ctx, tx)
		if err != nil || !found {
			return err
		}
		prefix := k.letter(letterMember)
		pairs, err := tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Slice(ctx)
		if err != nil {
			return err
		}
		var all rows
		for _, pair := range pairs {
			all.add(prefix, pair)
		}
		fault, err := r.breakLeases(ctx, tx, all.owners())
		if err != nil {
			return err
		}
		tx.ClearRange(kv.PrefixRange(prefix))
		tx.Set(k.cluster(), id)
		k.bumpVersion(tx)
		if len(pairs) > 0 { // an attempt after one that has committed finds none
			forgotten, unread = len(pairs), fault
		}
		return nil
	})
	if err == nil {
		err = unread
	}
	return forgotten, err
}

// breakLeases ends the leases that have the names of owners, but those that cannot be read, which it
// returns the errors of.
func (r *Registry) breakLeases(ctx context.Context, tx kv.Transaction, owners []placement.Owner) (unread, err error) {
	names := make([]string, len(owners))
	for i, owner := range owners {
		names[i] = owner.Name
	}
	states, err := r.names.States(ctx, tx, names...) // in one round: Break reads the same again
	if errors.Is(err, leasefdb.ErrState) {
		unread, err = err, nil
	}
	if err != nil {
		return nil, err
	}
	for _, state := range states {
		if state.Name == "" { // it cannot be read
			continue
		}
		if err := r.names.Break(ctx, tx, state.Name, state.Epoch); err != nil {
			return nil, err
		}
	}
	return unread, nil
}
