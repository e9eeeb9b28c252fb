// SPDX-License-Identifier: Apache-2.0

package mux

import "time"

// wardSize is the number of groups of a ward: as many pulses as fit into a cache line.
const wardSize = 8

// ward has what of eight groups is read and written most often, in two cache lines, apart from the groups
// themselves. They have one entry in the wheel, for the earliest of their deadlines. What a look
// costs is the way of the line that contacts have written from one processor to another, and with it
// all eight are looked at: those whose leaders are alive then have their deadlines moved on together.
type ward struct {
	pulses [wardSize]pulse
	spans  [wardSize]span
}

// span says when a group is looked at. If it is positive, it is that long after the group's pulse; if
// it is negative, the time is its amount; 0: no timer runs.
type span time.Duration

// deadline returns the time before which nothing of a group is due; false if no timer runs.
func (w *ward) deadline(i uint32) (time.Duration, bool) {
	switch s := w.spans[i]; {
	case s > 0:
		return w.pulses[i].since() + time.Duration(s), true
	default:
		return time.Duration(-s), s != 0
	}
}

// look returns which groups are due, a bit for each, and the earliest deadline of the others; noDeadline if
// they have none.
func (w *ward) look(now time.Duration) (due uint8, next time.Duration) {
	next = noDeadline
	for i := range uint32(wardSize) {
		switch deadline, ok := w.deadline(i); {
		case !ok:
		case deadline <= now:
			due |= 1 << i
		default:
			next = min(next, deadline)
		}
	}
	return due, next
}
