// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/idgen"
)

// Budget bounds what one account has leased of a service. The account is kept in
// the store: the bound holds for all servers of the store together, and leases
// count until they end or are released, whoever releases them.
type Budget struct {
	Account string // whose leases count; it is not a secret
	PerMs   int    // most positions of a millisecond that it may have leased; the last lease may pass it

	applied atomic.Bool
}

// IsApplied reports whether a [Server] has answered a call under the budget. It tells
// that no provider in between has lost the context.
func (b *Budget) IsApplied() bool { return b.applied.Load() }

type budgetKey struct{}

// WithBudget returns a context for [Server.Acquire], under which it grants no
// more than the budget permits, else a [*BudgetError]. It travels in the context
// because providers that wrap a server pass that on.
func WithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// budgetOf returns the budget of a call, nil if it has none.
func budgetOf(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}

// ErrBudget is wrapped by a [*BudgetError].
var ErrBudget = errors.New("lease: the account has leased too much")

// BudgetError says that a request passes the budget of its account. Nothing was
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

// accountRecord is what an account has leased, by when that ends. Leases that end
// at about the same time are one entry, so that the record stays small.
type accountRecord struct {
	Leased []leasedUntil `json:"leased"` // ascending
}

// leasedUntil are the positions of some leases.
type leasedUntil struct {
	Until int64 `json:"until"` // Unix milliseconds; none of the leases ends later
	PerMs int   `json:"perMs"`
}

// maxLeasedUntil bounds the entries of an account, and divides the length of a
// lease: so much of it is the longest time that a lease counts after its end.
const maxLeasedUntil = 32

func (r *accountRecord) check() error {
	for _, l := range r.Leased {
		if l.Until < 0 || l.PerMs < 0 {
			return fmt.Errorf("%d positions are leased until %d", l.PerMs, l.Until)
		}
	}
	return nil
}

// charge is whose account a lease counts in, and where.
type charge struct {
	Account string `json:"account"` // hash of the name, hexadecimal
	Until   int64  `json:"until"`
}

func accountHash(account string) []byte {
	sum := sha256.Sum256([]byte(account))
	return sum[:16]
}

// at returns the entry in which a lease counts that ends at expired.
func (r *accountRecord) at(expired, length int64) *leasedUntil {
	slot := max(length/maxLeasedUntil, 1)
	until := (expired + slot - 1) / slot * slot
	i, found := slices.BinarySearchFunc(r.Leased, until, func(l leasedUntil, until int64) int { return cmp.Compare(l.Until, until) })
	switch {
	case found:
	case len(r.Leased) >= 2*maxLeasedUntil && i < len(r.Leased): // it counts a little longer
	default:
		r.Leased = slices.Insert(r.Leased, i, leasedUntil{Until: until})
	}
	return &r.Leased[i]
}

// total returns what is leased at now, and drops what is not.
func (r *accountRecord) total(now int64) (perMs int) {
	r.Leased = slices.DeleteFunc(r.Leased, func(l leasedUntil) bool { return l.Until <= now || l.PerMs == 0 })
	for _, l := range r.Leased {
		perMs += l.PerMs
	}
	return perMs
}

// release gives back what a lease took.
func (r *accountRecord) release(c charge, perMs int) {
	for i := range r.Leased {
		if l := &r.Leased[i]; l.Until == c.Until {
			l.PerMs = max(l.PerMs-perMs, 0)
		}
	}
}

// afford refuses a request that passes the budget.
func (a *acquisition) afford() error {
	if a.budget == nil {
		return nil
	}
	if leased := a.account.total(a.now); a.throughput > a.budget.PerMs-leased {
		return &BudgetError{ServiceID: a.service, ThroughputPerMs: a.throughput, Leased: leased, PerMs: a.budget.PerMs}
	}
	return nil
}

// charged adds a lease to the account, and returns what its block remembers of
// that.
func (a *acquisition) charged(lease span, positions int) *charge {
	if a.budget == nil {
		return nil
	}
	hash := accountHash(a.budget.Account)
	entry := a.account.at(lease.Until, a.config.Duration.Milliseconds())
	entry.PerMs += positions
	a.set(accountKey(hash), encode(accountKey(hash), &a.account))
	return &charge{Account: hex.EncodeToString(hash), Until: entry.Until}
}

// refund takes a lease that is released out of the account in which it counts.
func (ses *session) refund(ctx context.Context, b *block) error {
	c := b.Holder.Charge
	if c == nil {
		return nil
	}
	hash, err := hex.DecodeString(c.Account)
	if err != nil {
		return &CorruptError{ServiceID: ses.service, Key: blockKey(b.base), Cause: err}
	}
	key := accountKey(hash)
	values, err := ses.tx.Get(ctx, key)
	if err != nil {
		return err
	}
	var record accountRecord
	if known, err := ses.decode(key, values[0], &record); !known || err != nil {
		return err
	}
	record.release(*c, idgen.Lease{BitSeq: b.BitSeq}.ThroughputPerMs())
	ses.set(key, encode(key, &record))
	return nil
}
