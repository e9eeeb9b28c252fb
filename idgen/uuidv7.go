// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"encoding/binary"
	"time"
)

// uuidBits is the width of a UUIDv7's random part: 12 bits rand_a and 62 bits
// rand_b.
const uuidBits = 74

// UUIDSource makes UUIDs of version 7 (RFC 9562, section 5.7): 48 bits of Unix
// milliseconds and 74 random bits that within a millisecond grow by random
// steps (section 6.2, method 2). Each UUID is greater than all that the source
// made before, also when the clock is set back, and when the random bits
// overflow within a millisecond: its time then runs ahead of the clock. A clock that
// jumps ahead is followed as by a [ULIDSource].
//
// The zero value is ready. A UUIDSource is safe for concurrent use, does not
// allocate, and must not be copied after its first use.
type UUIDSource struct {
	// Now reads the clock, as in [ULIDSource]. The default, used for nil, is
	// [time.Now]. Set it before the first use.
	Now func() time.Time

	state monotonic
}

// Next returns a new UUID. It never waits and does not look at ctx. The only
// error is a [*TimeRangeError].
func (s *UUIDSource) Next(context.Context) (UUID, error) {
	ms, hi, lo, err := s.state.next(s.Now, uuidBits)
	if err != nil {
		return UUID{}, err
	}
	return newUUIDv7(ms, hi, lo), nil
}

// newUUIDv7 lays out a timestamp and a number of uuidBits: the upper 12 bits
// before the variant, the lower 62 after it.
func newUUIDv7(ms, hi, lo uint64) UUID {
	const version, variant = 7 << 12, 0b10 << 62
	var id UUID
	binary.BigEndian.PutUint64(id[:8], ms<<16|version|hi<<2|lo>>62)
	binary.BigEndian.PutUint64(id[8:], variant|lo&(1<<62-1))
	return id
}
