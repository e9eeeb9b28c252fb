// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/bits"
	"sync"
	"time"
)

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
	if near || r.ms < DefaultCustomEpochMs || m.clock.hasLasted(r) {
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
	return &TimeRangeError{Time: t, First: time.UnixMilli(0).UTC(), Last: time.UnixMilli(maxUnixMs).UTC()}
}
