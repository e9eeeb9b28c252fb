// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
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
// caller waits. The zero value is ready.
type monotonic struct {
	mu   sync.Mutex
	ms   uint64 // of the last id
	hi   uint64 // its number: the top width-64 bits,
	lo   uint64 // and the low 64 bits
	draw func() (hi, lo uint64)
	step func() uint64
}

// next returns the next timestamp and number of width bits, 65–127.
func (m *monotonic) next(now time.Time, width uint) (ms, hi, lo uint64, err error) {
	wall := now.UnixMilli()
	m.mu.Lock()
	defer m.mu.Unlock()
	if wall < 0 && m.ms > 0 {
		wall = 0 // set back, even if before 1970
	}
	if wall < 0 || wall > maxUnixMs {
		return 0, 0, 0, unixRangeError(now)
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

// grow adds a step to the number, or reports false, changing nothing, if it
// would overflow or if there is none yet.
func (m *monotonic) grow(width uint) bool {
	step := uint64(rand.Uint32()) + 1
	if m.step != nil {
		step = m.step()
	}
	lo, carry := bits.Add64(m.lo, step, 0)
	hi := m.hi + carry
	if hi>>(width-64) != 0 {
		return false
	}
	m.hi, m.lo = hi, lo
	return true
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
