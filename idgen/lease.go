// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// Lease is the right to make IDs in a rectangle: the positions [Base,
// Base+2^SequenceBits) of each millisecond, in the milliseconds [Created, Expired).
// A provider never grants two leases of one service with a point in common,
// whatever the clocks of its clients say; that alone makes IDs unique.
//
// A position is the bits of an ID below the timestamp, machine id and sequence
// together. So leases with different SequenceBits live in one space: machine 5 with
// 8 bits of sequence owns the positions 1280–1535, which lie in machine 1 with
// 10 bits, 1024–2047.
//
// The JSON names are those of the kazahana specification, section 4.2.
type Lease struct {
	ID      int64  `json:"id"`      // machine id, without the fallback bit
	Created int64  `json:"created"` // first millisecond, Unix; may lie ahead of the clock that asked
	Expired int64  `json:"expired"` // end, Unix milliseconds, excluded
	Secret  string `json:"secret"`  // key of the signature that releases it

	CustomEpoch   int64 `json:"customEpoch"` // Layout.CustomEpoch
	ReserveBits   int   `json:"bitReserve"`
	TimestampBits int   `json:"bitTs"`
	MachineBits   int   `json:"bitId"`
	SequenceBits  int   `json:"bitSeq"`
}

// Layout returns the layout of the IDs made under the lease.
func (l Lease) Layout() Layout {
	return Layout{CustomEpoch: l.CustomEpoch, ReserveBits: l.ReserveBits, TimestampBits: l.TimestampBits, MachineBits: l.MachineBits, SequenceBits: l.SequenceBits}
}

// Base returns the first position of the lease in each millisecond.
func (l Lease) Base() uint64 { return uint64(l.ID) << l.SequenceBits }

// Throughput returns the number of positions in each millisecond.
func (l Lease) Throughput() int { return 1 << l.SequenceBits }

// Ref returns the lease's name.
func (l Lease) Ref() LeaseRef {
	return LeaseRef{ID: l.ID, SequenceBits: l.SequenceBits, Created: l.Created}
}

// Duration returns the length of the lease.
func (l Lease) Duration() time.Duration { return time.Duration(l.Expired-l.Created) * time.Millisecond }

// Validate reports everything that makes the lease unusable, joined by
// [errors.Join]: an impossible layout, a machine id that does not fit below the
// fallback bit, times that are not in order, before the epoch or after the end of
// the timestamp, no secret.
func (l Lease) Validate() error {
	if err := l.Layout().Validate(); err != nil {
		return fmt.Errorf("idgen: lease of machine %d: %w", l.ID, err)
	}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("idgen: lease of machine %d: "+format, append([]any{l.ID}, args...)...))
	}
	if l.ID < 0 || l.ID >= 1<<(l.MachineBits-1) {
		fault("the id must be from 0 to %d, the fallback bit clear", int64(1)<<(l.MachineBits-1)-1)
	}
	if l.Created <= l.CustomEpoch {
		fault("it begins at %d ms, not after the epoch %d", l.Created, l.CustomEpoch)
	}
	if l.Expired <= l.Created {
		fault("it ends at %d ms, not after its beginning at %d", l.Expired, l.Created)
	}
	if end := l.Layout().Last().UnixMilli() + 1; l.Expired > end {
		fault("it ends at %d ms, after the last millisecond that an ID can carry, %d", l.Expired, end-1)
	}
	if l.Secret == "" {
		fault("it has no secret, so it could never be released")
	}
	return errors.Join(faults...)
}

// Release returns the signed request that gives l back to the service it was
// acquired for. lastTs is the last millisecond, Unix, in which an ID was made
// under l, or l.Created-1.
func (l Lease) Release(serviceID string, lastTs int64, now time.Time) ReleaseRequest {
	req := ReleaseRequest{
		ServiceID: serviceID, ID: l.ID, SequenceBits: l.SequenceBits, Created: l.Created,
		LastTs: lastTs, Timestamp: now.UnixMilli(),
	}
	req.Signature, req.LiteralSignature = req.Sign(l.Secret), req.Literal().Sign(l.Secret)
	return req
}

// Format implements [fmt.Formatter]: a lease prints like any struct, except that
// its secret is left out. Its JSON has the secret, since that is how leases
// travel: do not log slices or structs of leases as JSON.
func (l Lease) Format(f fmt.State, verb rune) { redact.Format(f, verb, l.withoutSecret()) }

// LogValue implements [slog.LogValuer]: a lease is logged without its secret.
func (l Lease) LogValue() slog.Value { return slog.AnyValue(l.withoutSecret()) }

// withoutSecret returns the lease without its secret, as a type without methods.
func (l Lease) withoutSecret() any {
	type lease = Lease
	type Lease lease // the name that %#v prints
	l.Secret = redact.Secret(l.Secret)
	return Lease(l)
}

// heldLease is a lease that a client has, or may still continue.
type heldLease struct {
	Lease
	asked    time.Time // when the provider was asked for it
	renew    time.Time // when the client asks for a replacement
	replaced bool      // a newer lease takes its place
	last     int64     // last millisecond, Unix, in which an ID may have been made under it; Created-1 if none
}

// fallbackEnd returns the end of the time after Expired in which the lease may
// be continued with the fallback bit: once more its duration.
func (h *heldLease) fallbackEnd() int64 { return h.Expired + h.Expired - h.Created }

// positionSpan returns the positions of the lease.
func (h *heldLease) positionSpan() span { return span{h.Base(), uint64(h.Throughput())} }

// signTimes returns the times, Unix milliseconds, by which to sign the release of the
// lease, best first: ms, which is the client's clock, and the clock of the provider. That
// one was close to Created when the provider was asked; a provider refuses what was
// signed by a clock that is far from its own. None is left where the lease has ended.
func (h *heldLease) signTimes(ms int64, now time.Time) (times []int64) {
	theirs := h.Created + now.Sub(h.asked).Milliseconds()
	if ms < h.Expired {
		times = append(times, ms)
	}
	if d := theirs - ms; theirs < h.Expired && max(d, -d) > signatureSkew.Milliseconds() {
		times = append(times, theirs)
	}
	return times
}

// canContinue reports whether IDs with the fallback bit may be made under l.
func (h *heldLease) canContinue(ms int64, layout Layout) bool {
	s := h.positionSpan()
	return h.Expired <= ms && ms < h.fallbackEnd() && s.base+s.size <= layout.FallbackPositions()
}

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
			total += l.Throughput()
		}
	}
	return total
}

// leasedThroughput returns how many positions the leases have that have not ended at ms.
func (h *leaseSet) leasedThroughput(ms int64) int {
	total := 0
	for _, l := range h.leases {
		if ms < l.Expired {
			total += l.Throughput()
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
