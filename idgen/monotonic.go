// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/bits"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// ulidBits is the width of a ULID's random part.
const ulidBits = 80

// ULIDSource makes ULIDs: 48 bits of Unix milliseconds and 80 random bits, as
// text 26 characters. Each ULID is greater than all that the source made
// before, even when the clock is set back, or when the random part overflows
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

// Next returns a new ULID. It never waits and does not look at ctx. Errors are
// [ErrBeforeCustomEpoch], for a clock before 1970, and [ErrTimeOverflow].
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

// uuidBits is the width of a UUIDv7's random part: 12 bits rand_a and 62 bits
// rand_b.
const uuidBits = 74

// UUIDSource makes UUIDs of version 7 (RFC 9562, section 5.7): 48 bits of Unix
// milliseconds and 74 random bits that within a millisecond grow by random
// steps (section 6.2, method 2). Each UUID is greater than all that the source
// made before, even when the clock is set back, or when the random bits
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

// Next returns a new UUID. It never waits and does not look at ctx. Errors are
// those of [ULIDSource.Next].
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

// maxUnixMs is the greatest timestamp of a ULID and of a UUIDv7: 48 bits of
// Unix milliseconds end in the year 10889.
const maxUnixMs = 1<<48 - 1

// monotonic is what ULIDs and UUIDv7s share: a Unix millisecond followed by a
// wide number, ever increasing. A new millisecond draws the number anew; within
// a millisecond it grows by a random step from 1 to 2^32, so that neighbours
// cannot be guessed (RFC 9562, section 6.2, method 2). Where the number
// overflows, and where the clock was set back, the timestamp runs ahead of the
// clock, as that section permits; ids then stay unique and ascending, and no
// caller waits. So a clock that is far ahead for a moment must not be followed: see
// readClock. The zero value is ready.
type monotonic struct {
	mu    sync.Mutex
	clock clock
	begun bool   // the clock is in use
	ms    uint64 // of the last id
	hi    uint64 // its number: the top width-64 bits,
	lo    uint64 // and the low 64 bits

	draw func() (hi, lo uint64) // instead of random bits of the system (tests)
	step func() uint64          // instead of a random step (tests)
	mono func() time.Duration   // see Options (tests)
}

// next returns the next timestamp and number of width bits, 65–127, by a clock; nil is
// [time.Now].
func (m *monotonic) next(now func() time.Time, width uint) (ms, hi, lo uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wall := m.readClock(now)
	if wall < 0 && m.ms > 0 {
		wall = 0 // set back, even if before 1970
	}
	if wall < 0 || wall > maxUnixMs {
		return 0, 0, 0, unixRangeError(time.UnixMilli(wall))
	}
	if uint64(wall) > m.ms || !m.grow(width) {
		next := max(uint64(wall), m.ms+1)
		if next > maxUnixMs {
			return 0, 0, 0, unixRangeError(time.UnixMilli(int64(next)))
		}
		m.ms = next
		m.hi, m.lo = m.random()
		m.hi &= 1<<(width-64) - 1
	}
	return m.ms, m.hi, m.lo, nil
}

// dayJump is how far a clock may jump that is believed after jumpPatience: ids of a
// wrong day do little harm, and a virtual machine that was paused for a night has
// jumped.
const dayJump = 24 * time.Hour

// readClock returns the Unix millisecond to go by. A wall clock that is suddenly more
// than five seconds ahead of the monotonic one is followed, as by a [Client] without a
// provider, once it has been ahead for as long as it is far, less what the machine
// slept; or for ten seconds, if it is at most a day ahead. Until then the time goes on by
// the monotonic clock. A clock from before the default epoch was not set yet, so it is
// followed wherever it goes.
func (m *monotonic) readClock(now func() time.Time) int64 {
	if !m.begun {
		o := Options{Now: now, MaxBackward: new(time.Duration(0)), mono: m.mono}
		if now == nil {
			o.Now = time.Now
		}
		m.clock.init(o)
		m.begun = true
	}
	r := m.clock.read()
	if !r.isAhead() {
		m.clock.trust(r)
		return r.ms
	}
	m.clock.noticeJump(r)
	near := r.wall-r.ms <= dayJump.Milliseconds() && m.clock.lasted(r) >= jumpPatience.Milliseconds()
	if near || r.ms < DefaultCustomEpoch || m.clock.hasLasted(r) {
		m.clock.believeJump(r)
		return r.wall
	}
	return r.ms
}

// grow adds a step to the number, or reports false, changing nothing, if it
// would overflow or if there is none yet.
func (m *monotonic) grow(width uint) bool {
	step := m.randomStep()
	lo, carry := bits.Add64(m.lo, step, 0)
	hi := m.hi + carry
	if hi>>(width-64) != 0 {
		return false
	}
	m.hi, m.lo = hi, lo
	return true
}

// randomStep draws a step from 1 to 2^32 from the operating system, as random does: a
// copy of a virtual machine is in the millisecond of the original, and in one that lasts
// where the clock was set back.
func (m *monotonic) randomStep() uint64 {
	if m.step != nil {
		return m.step()
	}
	var b [4]byte
	_, _ = cryptorand.Read(b[:]) // never fails, see crypto/rand
	return uint64(binary.BigEndian.Uint32(b[:])) + 1
}

// random draws 128 bits from the operating system: copies of a virtual machine
// would continue a generator inside the process with the same numbers.
func (m *monotonic) random() (hi, lo uint64) {
	if m.draw != nil {
		return m.draw()
	}
	var b [16]byte
	_, _ = cryptorand.Read(b[:]) // never fails, see crypto/rand
	return binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
}

func unixRangeError(t time.Time) error {
	return &refusal.TimeRangeError{Time: t, First: time.UnixMilli(0).UTC(), Last: time.UnixMilli(maxUnixMs).UTC()}
}
