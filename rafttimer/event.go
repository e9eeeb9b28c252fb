// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"fmt"
	"time"
)

// Kind is the kind of an [Event].
type Kind uint8

// Kinds of events.
const (
	// ElectionTimeout: no contact for an election timeout. A follower or
	// candidate starts an election.
	ElectionTimeout Kind = iota + 1
	// Heartbeat: a leader sends a heartbeat to all followers.
	Heartbeat
	// Stall: the timers were served later than Config.StallThreshold after a
	// deadline. A leader makes sure that it still leads before it acts.
	Stall
)

// kinds is the number of kinds.
const kinds = int(Stall)

// String returns the kind in words.
func (k Kind) String() string {
	names := [...]string{"", "election timeout", "heartbeat", "stall"}
	if k > 0 && int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Event is what a timer has to tell. Times are those of the machine's caller:
// since an origin of its choice; for a [Driver] since New.
type Event struct {
	Kind Kind
	Role Role // of the node when the event was made

	// RoleChanges is the number of role changes before the event, and Generation
	// that of starts, stops and contacts; for a Stall, of stops that left no timer
	// running. An event with numbers that are not the latest is stale: see
	// [Machine.IsCurrent].
	RoleChanges uint64
	Generation  uint64

	Due  time.Duration // the deadline
	Late time.Duration // how much later the event was made; for Stall, the length of the stall

	// Missed is, for a Heartbeat, the number of heartbeats before it that were
	// due and left out.
	Missed int
	// Failed is, for an ElectionTimeout, the number of elections that failed
	// since the last contact, with this one.
	Failed int
}

// At returns the time at which the event was made.
func (e Event) At() time.Duration { return e.Due + e.Late }

// String returns the event in one line, without its numbers.
func (e Event) String() string {
	s := fmt.Sprintf("%v of a %v, due at %v", e.Kind, e.Role, e.Due)
	if e.Late > 0 {
		s += fmt.Sprintf(", late by %v", e.Late)
	}
	if e.Missed > 0 {
		s += fmt.Sprintf(", missed %d", e.Missed)
	}
	return s
}

// mergeWith returns e with what an older event of its kind, which was not received,
// has to tell.
func (e Event) mergeWith(old Event) Event {
	switch {
	case e.Kind == Heartbeat && e.Generation == old.Generation:
		e.Missed += 1 + old.Missed
	case e.Kind == Stall && e.RoleChanges == old.RoleChanges && old.Late > e.Late:
		return old
	}
	return e
}
