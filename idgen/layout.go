// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/refusal"
)

// DefaultCustomEpoch is 2026-01-01T00:00:00Z in Unix milliseconds, the time of
// timestamp zero in [DefaultLayout].
const DefaultCustomEpoch int64 = 1767225600000

// The bits of [DefaultLayout].
const (
	DefaultReserveBits   = 1
	DefaultTimestampBits = 41 // 69 years
	DefaultMachineBits   = 14 // 8192 leased machines and as many for fallback
	DefaultSequenceBits  = 8  // 256 positions in a millisecond and machine
)

// What [Layout.Validate] permits.
const (
	minReserveBits, maxReserveBits     = 1, 29
	minTimestampBits, maxTimestampBits = 32, 42
	minMachineBits, maxMachineBits     = 2, 30
	minSequenceBits, maxSequenceBits   = 1, 29

	// maxCustomEpoch is 9999-12-31T23:59:59.999Z, the last time with a four-digit year.
	maxCustomEpoch = 253402300799999
)

// Layout says which bits of an ID mean what. From the top bit down: reserve
// (zeros), timestamp, machine id, sequence. Epoch, ReserveBits and TimestampBits must
// never change once IDs are in use, or old and new IDs no longer sort by time.
//
// A Layout is comparable with ==. Its methods expect a layout that passes
// [Layout.Validate]. JSON has the names of the fields' tags.
type Layout struct {
	// CustomEpoch is the time of timestamp zero in Unix milliseconds, from 0 to
	// the end of the year 9999.
	CustomEpoch int64 `json:"CustomEpochMs"`
	// ReserveBits is the number of leading zero bits, 1–29. The first one keeps
	// IDs positive.
	ReserveBits int `json:"BitReserve"`
	// TimestampBits is the number of bits of the timestamp in milliseconds, 32–42: 40
	// last 35 years, 41 last 69, 42 last 139.
	TimestampBits int `json:"BitTs"`
	// MachineBits is the number of bits of the machine id, 2–30. The top one is set
	// in fallback IDs.
	MachineBits int `json:"BitID"`
	// SequenceBits is the number of bits of the sequence, 1–29.
	SequenceBits int `json:"BitSeq"`
}

var defaultLayout = DefaultLayout()

// DefaultLayout returns the layout 1 + 41 + 14 + 8 from the epoch
// 2026-01-01T00:00:00Z. Its last millisecond is 2095-09-07T15:47:35.551Z.
func DefaultLayout() Layout {
	return Layout{
		CustomEpoch:   DefaultCustomEpoch,
		ReserveBits:   DefaultReserveBits,
		TimestampBits: DefaultTimestampBits,
		MachineBits:   DefaultMachineBits,
		SequenceBits:  DefaultSequenceBits,
	}
}

// Validate reports everything that is wrong with the layout, joined by
// [errors.Join]: each field out of its range, and bits that do not total 64.
func (l Layout) Validate() error {
	faults := []error{
		checkRange("CustomEpoch", l.CustomEpoch, 0, maxCustomEpoch),
		checkRange("ReserveBits", int64(l.ReserveBits), minReserveBits, maxReserveBits),
		checkRange("TimestampBits", int64(l.TimestampBits), minTimestampBits, maxTimestampBits),
		checkRange("MachineBits", int64(l.MachineBits), minMachineBits, maxMachineBits),
		checkRange("SequenceBits", int64(l.SequenceBits), minSequenceBits, maxSequenceBits),
	}
	if total := l.ReserveBits + l.TimestampBits + l.MachineBits + l.SequenceBits; total != 64 {
		faults = append(faults, fmt.Errorf("idgen: layout: %d reserve + %d timestamp + %d machine + %d sequence bits are %d; they must total 64",
			l.ReserveBits, l.TimestampBits, l.MachineBits, l.SequenceBits, total))
	}
	return errors.Join(faults...)
}

func checkRange(field string, v, least, most int64) error {
	if v < least || v > most {
		return fmt.Errorf("idgen: layout: %s is %d; it must be from %d to %d", field, v, least, most)
	}
	return nil
}

// Time returns the moment that id carries, in UTC with millisecond precision.
func (l Layout) Time(id ID) time.Time {
	ms := uint64(id) >> l.lowBits() & (1<<l.TimestampBits - 1)
	return time.UnixMilli(l.CustomEpoch + int64(ms)).UTC()
}

// MachineID returns the machine bits of id, the fallback bit included.
func (l Layout) MachineID(id ID) int {
	return int(uint64(id) >> l.SequenceBits & (1<<l.MachineBits - 1))
}

// Sequence returns the sequence bits of id.
func (l Layout) Sequence(id ID) int { return int(uint64(id) & (1<<l.SequenceBits - 1)) }

// IsFallback reports whether the top machine bit of id is set.
func (l Layout) IsFallback(id ID) bool { return uint64(id)&l.fallbackBit() != 0 }

// First returns the earliest time that an ID can carry: the epoch plus one
// millisecond, because timestamp 0 is left out so that no ID is zero.
func (l Layout) First() time.Time { return time.UnixMilli(l.CustomEpoch + 1).UTC() }

// Last returns the latest time that an ID can carry.
func (l Layout) Last() time.Time { return time.UnixMilli(l.CustomEpoch + l.maxTs()).UTC() }

// At returns the smallest value that an ID made at t, to the millisecond, can
// have: all IDs made at t or later are at least At(t), all earlier ones are
// less. It turns a range of times into a range of IDs. A time outside [First,
// Last] is [ErrBeforeCustomEpoch] or [ErrTimeOverflow].
func (l Layout) At(t time.Time) (ID, error) { return l.Compose(t, 0, 0) }

// Compose puts an ID together, the inverse of [Layout.Time],
// [Layout.MachineID] and [Layout.Sequence]. It is for imports and tools: an ID
// that no generator made is as unique as the parts given. A time outside
// [First, Last] is [ErrBeforeCustomEpoch] or [ErrTimeOverflow]; a machine id or
// sequence that does not fit its bits is [ErrInvalid].
func (l Layout) Compose(t time.Time, machineID, sequence int) (ID, error) {
	ts := t.UnixMilli() - l.CustomEpoch
	if ts < 1 || ts > l.maxTs() {
		return 0, l.timeRangeError(t)
	}
	if machineID < 0 || machineID >= 1<<l.MachineBits {
		return 0, fmt.Errorf("%w: machine id %d does not fit %d bits", ErrInvalid, machineID, l.MachineBits)
	}
	if sequence < 0 || sequence >= 1<<l.SequenceBits {
		return 0, fmt.Errorf("%w: sequence %d does not fit %d bits", ErrInvalid, sequence, l.SequenceBits)
	}
	return ID(ts<<l.lowBits() | int64(machineID)<<l.SequenceBits | int64(sequence)), nil
}

func (l Layout) timeRangeError(t time.Time) error {
	return &refusal.TimeRangeError{Time: t, First: l.First(), Last: l.Last()}
}

// check returns an error if an ID cannot carry the timestamp ts.
func (l Layout) check(ts int64) error {
	if ts >= 1 && ts <= l.maxTs() {
		return nil
	}
	return l.timeRangeError(time.UnixMilli(l.CustomEpoch + ts))
}

// sameFrame reports whether IDs of both layouts can live in one space: the
// timestamps mean the same, and as many bits are below them.
func (l Layout) sameFrame(o Layout) bool {
	return l.CustomEpoch == o.CustomEpoch && l.ReserveBits == o.ReserveBits && l.TimestampBits == o.TimestampBits
}

// lowBits is the number of bits below the timestamp.
func (l Layout) lowBits() int { return l.MachineBits + l.SequenceBits }

// fallbackBit is the top machine bit as a mask.
func (l Layout) fallbackBit() uint64 { return 1 << (l.lowBits() - 1) }

// maxTs is the greatest timestamp.
func (l Layout) maxTs() int64 { return 1<<l.TimestampBits - 1 }

// FallbackPositions returns how many positions of each millisecond, with the
// fallback bit set, belong to the holders of leases that have just expired: the
// lower three quarters. A lease of positions there may be continued with the
// fallback bit for as long as it lasted, once it has expired without being
// released. The quarter above is for random fallback IDs: a lease that lies
// there is not continued. So the two kinds of fallback IDs never meet.
func (l Layout) FallbackPositions() uint64 { return l.fallbackBit() / 4 * 3 }

// The errors of times that do not fit into the timestamp of an id, usually times of the
// system clock. No id was made. The text names the time and the range. Set the clock right, or
// give a new service a layout with another epoch.
var (
	// ErrBeforeCustomEpoch says that a time is too early: it would need a timestamp
	// below 1.
	ErrBeforeCustomEpoch = refusal.ErrBeforeCustomEpoch

	// ErrTimeOverflow says that a time is too late for the timestamp bits: after
	// 2095-09-07 in the default layout.
	ErrTimeOverflow = refusal.ErrTimeOverflow
)
