// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/oklog/ulid/v2"
)

// ulidBits is the width of a ULID's random part.
const ulidBits = 80

// ULIDSource makes ULIDs: 48 bits of Unix milliseconds and 80 random bits, as
// text 26 characters. Each ULID is greater than all that the source made
// before, also when the clock is set back, and when the random part overflows
// within a millisecond: its time then runs ahead of the clock. A clock that jumps ahead
// by more than five seconds is followed when it has been ahead for ten seconds; if it is
// more than a day ahead, when that has lasted for as long as it is far.
//
// The zero value is ready. A ULIDSource is safe for concurrent use, does not
// allocate, and must not be copied after its first use.
type ULIDSource struct {
	// Now reads the clock. It must be safe for concurrent use, and must not ask the
	// source for an id. Jumps of the clock are noticed by the monotonic readings that the
	// times of [time.Now] carry. The default, used for nil, is [time.Now]. Set it before
	// the first use.
	Now func() time.Time

	state monotonic
}

// Next returns a new ULID. It never waits and does not look at ctx. The only
// error is a [*TimeRangeError].
func (s *ULIDSource) Next(context.Context) (ulid.ULID, error) {
	ms, hi, lo, err := s.state.next(s.Now, ulidBits)
	if err != nil {
		return ulid.Zero, err
	}
	var id ulid.ULID
	binary.BigEndian.PutUint64(id[:8], ms<<16|hi)
	binary.BigEndian.PutUint64(id[8:], lo)
	return id, nil
}

// NextString returns a new ULID in its text form; see [ULIDSource.Next].
func (s *ULIDSource) NextString(ctx context.Context) (string, error) {
	id, err := s.Next(ctx)
	if err != nil {
		return "", err
	}
	return id.String(), nil
}
