// SPDX-License-Identifier: Apache-2.0

package mux

import "time"

// blockSize is the number of groups of a block: as many contacts as fit into a cache line.
const blockSize = 8

// groupBlock holds the fields of eight groups that are read and written most
// often, in two cache lines, apart from the groups themselves. The groups have
// one entry in the wheel, for the earliest of their deadlines. The cost of a
// look is the transfer of the cache line that contacts have written on another
// processor; one transfer serves all eight groups, whose deadlines move on
// together if their leaders are alive.
type groupBlock struct {
	contacts [blockSize]contactTime
	spans    [blockSize]span
}

// span says when a group is looked at. If it is positive, it is that long after the group's contact time; if
// it is negative, the time is its amount; 0: no timer runs.
type span time.Duration

// deadline returns the time before which nothing of a group is due; false if no timer runs.
func (w *groupBlock) deadline(i uint32) (time.Duration, bool) {
	switch s := w.spans[i]; {
	case s > 0:
		return w.contacts[i].since() + time.Duration(s), true
	default:
		return time.Duration(-s), s != 0
	}
}

// lookUpDue returns which groups are due, a bit for each, and the earliest deadline of the others; noDeadline if
// they have none.
func (w *groupBlock) lookUpDue(now time.Duration) (due uint8, next time.Duration) {
	next = noDeadline
	for i := range uint32(blockSize) {
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
