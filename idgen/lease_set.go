// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"slices"
	"time"
)

// leaseSet is the leases of a client. It reads no clock: times are arguments.
type leaseSet struct{ leases []*heldLease }

// choose chooses the leases for ms, best first: valid ones that nothing has
// replaced, valid ones, ones that may be continued. The answer holds for the
// times in [from, until), of which ms is one.
func (h *leaseSet) choose(ms int64, layout Layout) leaseChoice {
	p := leaseChoice{until: forever, next: forever}
	for _, l := range h.leases {
		if l.Created > ms {
			p.next = min(p.next, l.Created)
		}
	}
	valid := func(l *heldLease) bool { return l.Created <= ms && ms < l.Expired }
	switch {
	case p.pick(h, func(l *heldLease) bool { return valid(l) && !l.replaced }), p.pick(h, valid):
		p.mode = leased
		for _, l := range p.leases {
			p.narrow(l.Created, l.Expired)
		}
	case p.pick(h, func(l *heldLease) bool { return l.canContinue(ms, layout) }):
		p.mode = continued
		for _, l := range p.leases {
			p.narrow(l.Expired, l.fallbackEnd())
		}
	}
	p.until = min(p.until, p.next)
	return p
}

// lastingThroughput returns the throughput of the leases that need no
// replacement at now.
func (h *leaseSet) lastingThroughput(now time.Time) int {
	total := 0
	for _, l := range h.leases {
		if !l.replaced && now.Before(l.renew) {
			total += l.ThroughputPerMs()
		}
	}
	return total
}

// leasedThroughput returns how many positions the leases have that have not ended at ms.
func (h *leaseSet) leasedThroughput(ms int64) int {
	total := 0
	for _, l := range h.leases {
		if ms < l.Expired {
			total += l.ThroughputPerMs()
		}
	}
	return total
}

// nextRenewal returns when the next lease will need a replacement.
func (h *leaseSet) nextRenewal(now time.Time) (first time.Time, ok bool) {
	for _, l := range h.leases {
		if !l.replaced && now.Before(l.renew) && (!ok || l.renew.Before(first)) {
			first, ok = l.renew, true
		}
	}
	return first, ok
}

// endRenewalTimes makes the leases that have ended at ms need a replacement at
// now. It reports whether there are any.
func (h *leaseSet) endRenewalTimes(ms int64, now time.Time) (found bool) {
	for _, l := range h.leases {
		if l.replaced || ms < l.Expired {
			continue
		}
		found = true
		if now.Before(l.renew) {
			l.renew = now
		}
	}
	return found
}

// listDue returns the leases that need a replacement at now and have none, or all that
// have none.
func (h *leaseSet) listDue(now time.Time, all bool) (due []*heldLease) {
	for _, l := range h.leases {
		if !l.replaced && (all || !now.Before(l.renew)) {
			due = append(due, l)
		}
	}
	return due
}

// listRefs names what listDue returns, as far as a request can.
func (h *leaseSet) listRefs(now time.Time, all bool) (refs []LeaseRef) {
	for _, l := range h.listDue(now, all) {
		if len(refs) < MaxReplaces {
			refs = append(refs, l.Ref())
		}
	}
	return refs
}

// markReplaced marks what listDue returns as replaced.
func (h *leaseSet) markReplaced(now time.Time, all bool) {
	for _, l := range h.listDue(now, all) {
		l.replaced = true
	}
}

// dropEnded drops the leases that cannot be used at ms or later.
func (h *leaseSet) dropEnded(ms int64) {
	h.leases = slices.DeleteFunc(h.leases, func(l *heldLease) bool { return ms >= l.fallbackEnd() })
}

// takeSpare takes out the replaced leases that are not in use, because they can go
// back to the provider, and returns them.
func (h *leaseSet) takeSpare(used []*heldLease) (spare []*heldLease) {
	h.leases = slices.DeleteFunc(h.leases, func(l *heldLease) bool {
		if !l.replaced || slices.Contains(used, l) {
			return false
		}
		spare = append(spare, l)
		return true
	})
	return spare
}
