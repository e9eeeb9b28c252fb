// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// budgetKey returns the key of the account's record.
func budgetKey(b *refusal.Budget) []byte { return accountKey(accountHash(b.Account)) }

// accountRecord is what an account has leased, by the end of the leases. Leases
// that end at about the same time are one entry, so that the record stays small.
type accountRecord struct {
	Leased []leasedUntil `json:"leased"` // ascending
}

// leasedUntil are the positions of some leases.
type leasedUntil struct {
	Until int64 `json:"until"` // Unix milliseconds; none of the leases ends later
	PerMs int   `json:"perMs"`
	// Replaced is the part of PerMs that belongs to leases which others replace; see
	// [acquisition.checkBudget].
	Replaced int `json:"replaced,omitempty"`
}

// maxLeasedUntil bounds the entries of an account, and divides the length of a
// lease: so much of it is the longest time that a lease counts after its end.
const maxLeasedUntil = 32

func (r *accountRecord) validate() error {
	for _, l := range r.Leased {
		if l.Until < 0 || l.PerMs < 0 || l.Replaced < 0 {
			return fmt.Errorf("%d positions are leased until %d, %d of them replaced", l.PerMs, l.Until, l.Replaced)
		}
	}
	return nil
}

// charge is the account that a lease counts in, and the entry there.
type charge struct {
	Account  string `json:"account"` // hash of the name, hexadecimal
	Until    int64  `json:"until"`
	Replaced bool   `json:"replaced,omitempty"` // the entry counts it as replaced
}

func accountHash(account string) []byte {
	sum := sha256.Sum256([]byte(account))
	return sum[:16]
}

// entryFor returns the entry in which a lease counts that ends at expired.
func (r *accountRecord) entryFor(expired, length int64) *leasedUntil {
	slot := max(length/maxLeasedUntil, 1)
	until := (expired + slot - 1) / slot * slot
	i, found := slices.BinarySearchFunc(r.Leased, until, func(l leasedUntil, until int64) int { return cmp.Compare(l.Until, until) })
	switch {
	case found:
	case len(r.Leased) >= 2*maxLeasedUntil && i < len(r.Leased): // full: the next entry, so it counts a little longer
	default:
		r.Leased = slices.Insert(r.Leased, i, leasedUntil{Until: until})
	}
	return &r.Leased[i]
}

// dropEnded drops what is not leased at now, and returns the totals of the rest: of the
// leases that nothing replaces, and of the others.
func (r *accountRecord) dropEnded(now int64) (leased, replaced int) {
	r.Leased = slices.DeleteFunc(r.Leased, func(l leasedUntil) bool { return l.Until <= now || l.PerMs == 0 })
	for _, l := range r.Leased {
		part := min(l.Replaced, l.PerMs) // a server of an earlier version refunds PerMs alone
		leased, replaced = leased+l.PerMs-part, replaced+part
	}
	return leased, replaced
}

// markReplaced counts a lease as replaced.
func (r *accountRecord) markReplaced(c charge, perMs int) {
	for i := range r.Leased {
		if l := &r.Leased[i]; l.Until == c.Until {
			l.Replaced += perMs
		}
	}
}

// refund gives back what a lease took.
func (r *accountRecord) refund(c charge, perMs int) {
	for i := range r.Leased {
		if l := &r.Leased[i]; l.Until == c.Until {
			l.PerMs = max(l.PerMs-perMs, 0)
			if c.Replaced {
				l.Replaced = max(l.Replaced-perMs, 0)
			}
		}
	}
}
