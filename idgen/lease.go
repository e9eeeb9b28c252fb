// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"errors"
	"fmt"
	"time"
)

// Lease is the right to make IDs in a rectangle: the positions [Base,
// Base+2^BitSeq) of each millisecond, in the milliseconds [Created, Expired).
// A provider never grants two leases of one service whose rectangles share a
// point, whatever the clocks of its clients say; that alone makes IDs unique.
//
// A position is the bits of an ID below the timestamp, machine id and sequence
// together. So leases with different BitSeq live in one space: machine 5 with
// 8 bits of sequence owns the positions 1280–1535, which lie in machine 1 with
// 10 bits, 1024–2047.
//
// The JSON names are those of the kazahana specification, section 4.2.
type Lease struct {
	ID      int64  `json:"id"`      // machine id, without the fallback bit
	Created int64  `json:"created"` // first millisecond, Unix; may lie ahead of the clock that asked
	Expired int64  `json:"expired"` // end, Unix milliseconds, excluded
	Secret  string `json:"secret"`  // key of the signature that releases it

	CustomEpoch int64 `json:"customEpoch"` // Layout.CustomEpochMs
	BitReserve  int   `json:"bitReserve"`
	BitTs       int   `json:"bitTs"`
	BitID       int   `json:"bitId"`
	BitSeq      int   `json:"bitSeq"`
}

// Layout returns the layout of the IDs made under the lease.
func (l Lease) Layout() Layout {
	return Layout{CustomEpochMs: l.CustomEpoch, BitReserve: l.BitReserve, BitTs: l.BitTs, BitID: l.BitID, BitSeq: l.BitSeq}
}

// Base returns the first position of the lease in each millisecond.
func (l Lease) Base() uint64 { return uint64(l.ID) << l.BitSeq }

// ThroughputPerMs returns the number of positions in each millisecond.
func (l Lease) ThroughputPerMs() int { return 1 << l.BitSeq }

// Ref returns the lease's name.
func (l Lease) Ref() LeaseRef { return LeaseRef{ID: l.ID, BitSeq: l.BitSeq, Created: l.Created} }

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
	if l.ID < 0 || l.ID >= 1<<(l.BitID-1) {
		fault("the id must be from 0 to %d, the fallback bit clear", int64(1)<<(l.BitID-1)-1)
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
		ServiceID: serviceID, ID: l.ID, BitSeq: l.BitSeq, Created: l.Created,
		LastTs: lastTs, Timestamp: now.UnixMilli(),
	}
	req.Signature, req.LiteralSignature = req.Sign(l.Secret), req.Literal().Sign(l.Secret)
	return req
}
