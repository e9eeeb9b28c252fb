// SPDX-License-Identifier: Apache-2.0

package idgen

import "time"

// heldLease is a lease that a client has, or may still continue.
type heldLease struct {
	Lease
	renew    time.Time // from then on the client asks for a replacement
	replaced bool      // a newer lease takes its place
	last     int64     // last millisecond, Unix, in which an ID may have been made under it; Created-1 if none
}

// fallbackEnd returns the end of the time after Expired in which the lease may
// be continued with the fallback bit: once more its duration.
func (h *heldLease) fallbackEnd() int64 { return h.Expired + h.Expired - h.Created }

// positionSpan returns the positions of the lease.
func (h *heldLease) positionSpan() span { return span{h.Base(), uint64(h.ThroughputPerMs())} }

// canContinue reports whether IDs with the fallback bit may be made under l.
func (h *heldLease) canContinue(ms int64, layout Layout) bool {
	s := h.positionSpan()
	return h.Expired <= ms && ms < h.fallbackEnd() && s.base+s.size <= layout.FallbackPositions()
}
