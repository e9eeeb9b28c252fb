// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"cmp"
	"slices"
)

// leaseChoice is the leases under which IDs can be made at a time.
type leaseChoice struct {
	mode        mode // waiting, leased or continued
	leases      []*heldLease
	from, until int64
	next        int64 // when a lease that is not valid yet begins; forever if none is held
}

// pick takes the suitable leases in ascending order of their positions, and
// reports whether there are any. Of leases that overlap, which no provider may
// grant, it takes one.
func (p *leaseChoice) pick(h *leaseSet, suits func(*heldLease) bool) bool {
	for _, l := range h.leases {
		if suits(l) {
			p.leases = append(p.leases, l)
		}
	}
	slices.SortFunc(p.leases, func(a, b *heldLease) int { return cmp.Compare(a.Base(), b.Base()) })
	end := uint64(0)
	p.leases = slices.DeleteFunc(p.leases, func(l *heldLease) bool {
		s := l.positionSpan()
		if s.base < end {
			return true
		}
		end = s.base + s.size
		return false
	})
	return len(p.leases) > 0
}

// narrow limits the choice to [from, until).
func (p *leaseChoice) narrow(from, until int64) {
	p.from, p.until = max(p.from, from), min(p.until, until)
}
