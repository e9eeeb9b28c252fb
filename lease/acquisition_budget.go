// SPDX-License-Identifier: Apache-2.0

package lease

import "encoding/hex"

// checkBudget returns a [*BudgetError] if the request passes its budget.
func (a *acquisition) checkBudget() error {
	budget := a.request.budget
	if budget == nil {
		return nil
	}
	if leased := a.account.dropEnded(a.tx.now); a.request.throughput > budget.PerMs-leased {
		return &BudgetError{ServiceID: a.request.service, ThroughputPerMs: a.request.throughput, Leased: leased, PerMs: budget.PerMs}
	}
	return nil
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
