// SPDX-License-Identifier: Apache-2.0

package lease

import "encoding/hex"

// checkBudget returns a [*BudgetError] if the request passes its budget. The leases that
// it replaces do not count: their holder gives them back when it has the new ones. As
// it may not do so, they count in a budget of their own, which is as large, until they
// end or are released, and each is replaced once. So an account has leased twice its
// budget at most.
func (a *acquisition) checkBudget() error {
	budget := a.request.budget
	if budget == nil {
		return nil
	}
	leased, replaced := a.account.dropEnded(a.tx.now)
	for i, b := range a.replaces {
		if b == nil || replaced >= budget.PerMs {
			a.replaces[i] = nil
			continue
		}
		leased, replaced = leased-int(b.size()), replaced+int(b.size())
	}
	if a.request.throughput > budget.PerMs-leased {
		return &BudgetError{ServiceID: a.request.service, ThroughputPerMs: a.request.throughput, Leased: leased, PerMs: budget.PerMs}
	}
	return nil
}

// decodeReplaces takes the blocks of the leases that the request replaces out of the
// values that were read: those in force that count in the account, and were not replaced
// before. A damaged one is left alone.
func (a *acquisition) decodeReplaces(values [][]byte) {
	account := hex.EncodeToString(accountHash(a.request.budget.Account))
	for i, ref := range a.request.replaces {
		key := blockKey(ref.Base)
		if values[i] == nil {
			continue
		}
		b, err := a.tx.decodeBlock(key, values[i])
		if err != nil || b.Holder == nil {
			continue
		}
		h := b.Holder
		counts := h.Charge != nil && h.Charge.Account == account && !h.Charge.Replaced && h.Charge.Until > a.tx.now
		if counts && h.Created == ref.Created && h.Created <= a.tx.now && h.Released == nil {
			a.replaces = append(a.replaces, b)
		}
	}
}

// markReplaced counts the replaced leases as such, but for those whose blocks the search has
// moved or taken: such a lease ends in less than [lead], and its block must stay as it is written.
func (a *acquisition) markReplaced() {
	for _, b := range a.replaces {
		if b == nil || a.tx.hasWrite(blockKey(b.base)) {
			continue
		}
		a.account.markReplaced(*b.Holder.Charge, int(b.size()))
		b.Holder.Charge.Replaced = true
		a.tx.putBlock(b)
	}
}

// chargeAccount adds a lease to the account of the budget, and returns what the
// block keeps of that; nil without a budget.
func (a *acquisition) chargeAccount(lease span, positions int) *charge {
	budget := a.request.budget
	if budget == nil {
		return nil
	}
	entry := a.account.entryFor(lease.Until, a.tx.duration())
	entry.PerMs += positions
	a.tx.set(budget.key(), encode(budget.key(), &a.account))
	return &charge{Account: hex.EncodeToString(accountHash(budget.Account)), Until: entry.Until}
}
