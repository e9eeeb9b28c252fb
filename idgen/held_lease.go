// SPDX-License-Identifier: Apache-2.0

package idgen

import "time"

// heldLease is a lease that a client has, or may still continue.
type heldLease struct {
	Lease
	asked    time.Time // when the provider was asked for it
	renew    time.Time // from then on the client asks for a replacement
	replaced bool      // a newer lease takes its place
	last     int64     // last millisecond, Unix, in which an ID may have been made under it; Created-1 if none
}

// fallbackEnd returns the end of the time after Expired in which the lease may
// be continued with the fallback bit: once more its duration.
func (h *heldLease) fallbackEnd() int64 { return h.Expired + h.Expired - h.Created }

// positionSpan returns the positions of the lease.
func (h *heldLease) positionSpan() span { return span{h.Base(), uint64(h.ThroughputPerMs())} }

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
