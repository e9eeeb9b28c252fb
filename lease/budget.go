// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Budget bounds what one account has leased of a service. The account is kept in
// the store: the bound holds for all servers of the store together, and a lease
// counts until it ends or any server releases it. A lease that a request replaces, see
// [idgen.AcquireRequest], no longer counts in this bound, but in another one of the same
// size: an account that renews its leases has twice PerMs for a moment.
type Budget struct {
	Account string // the account that leases count in; it is not a secret
	PerMs   int    // most positions of a millisecond that it may have leased; the last lease may pass it

	applied atomic.Bool
}

// IsApplied reports whether a [Server] has answered a call under the budget: no
// provider in between has lost the context.
func (b *Budget) IsApplied() bool { return b.applied.Load() }

type budgetKey struct{}

// WithBudget returns a context for [Server.Acquire], which under it grants no
// more than the budget permits and otherwise returns a [*BudgetError]. It travels
// in the context because providers that wrap a server pass that on.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// key returns the key of the account's record.
func (b *Budget) key() []byte { return accountKey(accountHash(b.Account)) }

// budgetOf returns the budget of a call, nil if it has none.
func budgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}

// ErrBudget is wrapped by a [*BudgetError].
var ErrBudget = errors.New("lease: the account has leased too much")

// BudgetError says that a request exceeds the budget of its account. Nothing was
// granted.
type BudgetError struct {
	ServiceID       string
	ThroughputPerMs int // what was asked for
	Leased, PerMs   int // what the account has leased, and may have leased
}

// Error names the service and the figures.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v: of service %q it has leased a throughput of %d per millisecond, asks for %d more, and may have %d",
		ErrBudget, e.ServiceID, e.Leased, e.ThroughputPerMs, e.PerMs)
}

// Unwrap returns [ErrBudget].
func (e *BudgetError) Unwrap() error { return ErrBudget }
