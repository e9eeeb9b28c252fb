// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"cmp"
	"slices"
	"time"
)

// held is a lease that a client has, or had until lately.
type held struct {
	Lease
	renew    time.Time // from then on it does not count: a replacement is asked for
	replaced bool      // a younger lease has come for it
	last     int64     // last millisecond, Unix, in which an ID may have been made under it; Created-1 if none
}

// fallbackEnd returns the end of the time after Expired in which the lease may
// be continued with the fallback bit: once more its duration.
func (h *held) fallbackEnd() int64 { return h.Expired + h.Expired - h.Created }

// span returns the positions of the lease.
func (h *held) span() span { return span{h.Base(), uint64(h.ThroughputPerMs())} }

// holdings are the leases of a client. They know no clock: times are arguments.
type holdings struct{ leases []*held }

// plan says what IDs can be made under at a time.
type plan struct {
	mode        mode // waiting, leased or continued
	leases      []*held
	from, until int64
	next        int64 // when a lease that is not valid yet begins; forever if none is held
}

// plan chooses the leases for ms, best first: valid ones that nothing has
// replaced, valid ones, ones that may be continued. The answer holds for the
// times in [from, until), of which ms is one.
func (h *holdings) plan(ms int64, layout Layout) plan {
	p := plan{until: forever, next: forever}
	for _, l := range h.leases {
		if l.Created > ms {
			p.next = min(p.next, l.Created)
		}
	}
	valid := func(l *held) bool { return l.Created <= ms && ms < l.Expired }
	switch {
	case p.choose(h, func(l *held) bool { return valid(l) && !l.replaced }), p.choose(h, valid):
		p.mode = leased
		for _, l := range p.leases {
			p.limit(l.Created, l.Expired)
		}
	case p.choose(h, func(l *held) bool { return l.continues(ms, layout) }):
		p.mode = continued
		for _, l := range p.leases {
			p.limit(l.Expired, l.fallbackEnd())
		}
	}
	p.until = min(p.until, p.next)
	return p
}

// continues reports whether IDs with the fallback bit may be made under l.
func (h *held) continues(ms int64, layout Layout) bool {
	s := h.span()
	return h.Expired <= ms && ms < h.fallbackEnd() && s.base+s.size <= layout.FallbackPositions()
}

// choose takes the leases that suit, in ascending order of their positions. It
// reports whether there is any. Of leases that overlap, which no provider may
// grant, it takes one.
func (p *plan) choose(h *holdings, suits func(*held) bool) bool {
	for _, l := range h.leases {
		if suits(l) {
			p.leases = append(p.leases, l)
		}
	}
	slices.SortFunc(p.leases, func(a, b *held) int { return cmp.Compare(a.Base(), b.Base()) })
	end := uint64(0)
	p.leases = slices.DeleteFunc(p.leases, func(l *held) bool {
		s := l.span()
		if s.base < end {
			return true
		}
		end = s.base + s.size
		return false
	})
	return len(p.leases) > 0
}

// limit narrows the plan to [from, until).
func (p *plan) limit(from, until int64) {
	p.from, p.until = max(p.from, from), min(p.until, until)
}

// lasting returns the throughput of the leases that count at now: those that
// need no replacement yet.
func (h *holdings) lasting(now time.Time) int {
	total := 0
	for _, l := range h.leases {
		if !l.replaced && now.Before(l.renew) {
			total += l.ThroughputPerMs()
		}
	}
	return total
}

// positions returns how many positions the leases have that have not ended at ms.
func (h *holdings) positions(ms int64) int {
	total := 0
	for _, l := range h.leases {
		if ms < l.Expired {
			total += l.ThroughputPerMs()
		}
	}
	return total
}

// nextRenewal returns when the next of the leases that count at now stops to.
func (h *holdings) nextRenewal(now time.Time) (first time.Time, ok bool) {
	for _, l := range h.leases {
		if !l.replaced && now.Before(l.renew) && (!ok || l.renew.Before(first)) {
			first, ok = l.renew, true
		}
	}
	return first, ok
}

// overdue reports whether a lease stopped to count and has no replacement.
func (h *holdings) overdue(now time.Time) bool {
	return slices.ContainsFunc(h.leases, func(l *held) bool { return !l.replaced && !now.Before(l.renew) })
}

// replace marks the leases that stopped to count as replaced, or all of them.
func (h *holdings) replace(now time.Time, all bool) {
	for _, l := range h.leases {
		l.replaced = l.replaced || all || !now.Before(l.renew)
	}
}

// prune forgets what can never be used again at ms or later.
func (h *holdings) prune(ms int64) {
	h.leases = slices.DeleteFunc(h.leases, func(l *held) bool { return ms >= l.fallbackEnd() })
}

// spare takes out the replaced leases that are not in use, because they can go
// back to the provider, and returns them.
func (h *holdings) spare(used []*held) (spare []*held) {
	h.leases = slices.DeleteFunc(h.leases, func(l *held) bool {
		if !l.replaced || slices.Contains(used, l) {
			return false
		}
		spare = append(spare, l)
		return true
	})
	return spare
}
