// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"math/rand/v2"
	"time"
)

// Machine decides when the timers of one Raft node fire. It has no clock, no
// goroutine and no lock: the caller says what time it is, as the time since an
// origin of its choice, and calls [Machine.Advance] when [Machine.NextDeadline]
// is reached. The same calls with the same random source give the same events.
//
// All times must lie within 73 years of the origin. A time that lies before that of an earlier call says that the clock was set
// back: the deadlines are then moved back with it. A clock that jumps ahead
// looks like a stall.
//
// A Machine is not safe for concurrent use. Its zero value is not usable; see
// [NewMachine] and [Timing.Machine].
type Machine struct {
	config      *Config // complete and valid; shared
	random      rand.Rand
	now         time.Duration // of the latest call
	roleChanges uint64
	election    election
	heartbeat   heartbeat
	broadcast   estimate
	halts       uint32 // how often a stop has left no timer running
	failed      uint16 // elections since the last contact
	role        Role
	running     TimerState
	postponed   bool // a stall has put off the election timeout since its arming or the latest contact
}

// NewMachine is [Timing.Machine] for a Config of its own. Its error is that of
// [Config.Validate].
func NewMachine(c Config, source rand.Source) (*Machine, error) {
	timing, err := c.Timing()
	if err != nil {
		return nil, err
	}
	m := timing.Machine(source)
	return &m, nil
}

// Role returns the role of the latest role change.
func (m *Machine) Role() Role { return m.role }

// RoleChanges returns the number of role changes.
func (m *Machine) RoleChanges() uint64 { return m.roleChanges }

// State tells which timers run.
func (m *Machine) State() TimerState { return m.running }

// NextDeadline returns the time at which Advance has something to do, and false
// if no timer runs.
func (m *Machine) NextDeadline() (time.Duration, bool) {
	switch {
	case m.running.ElectionTimeout && m.running.HeartbeatInterval:
		return min(m.election.deadline(), m.heartbeat.next), true
	case m.running.ElectionTimeout:
		return m.election.deadline(), true
	default:
		return m.heartbeat.next, m.running.HeartbeatInterval
	}
}

// Advance says that it is now, and appends the events that are due to events, in
// the order of their deadlines: no event comes before its deadline. Calls that
// come too early append nothing.
//
// If the first deadline passed more than Config.StallThreshold ago, a Stall comes first,
// and an election timeout that is due is put off by one timeout: the node could not
// hear a leader while it stood still. Until a contact or an arming, further stalls do not put it off
// again, so that a node which is late every time starts elections all the same. Heartbeats that were missed are left out,
// and counted by the next one.
//
// In a role, an election timeout that fires is armed anew, with a new roll: the
// timers of the role go on running. With NoRole it fires once.
func (m *Machine) Advance(events []Event, now time.Duration) []Event {
	m.setNow(now)
	if due, ok := m.NextDeadline(); ok && now-due > m.config.StallThreshold {
		events = append(events, m.newStall(due))
		if m.election.deadline() <= now {
			m.postponeElection()
		}
	}
	if m.electionIsFirst() {
		return m.fireHeartbeat(m.fireElectionTimeout(events))
	}
	return m.fireElectionTimeout(m.fireHeartbeat(events))
}

// NoteStall says that the process stood still for a time which its clock does not
// show, as a monotonic clock does not show that a machine was suspended. It
// appends a Stall to events if that time exceeds Config.StallThreshold; the
// election timeout then counts from now, unless an earlier stall has put it off, as for Advance.
func (m *Machine) NoteStall(events []Event, now, by time.Duration) []Event {
	m.setNow(now)
	if by <= m.config.StallThreshold {
		return events
	}
	m.postponeElection()
	return append(events, m.newStall(m.now-by))
}

// newStall returns the event of a stall that lasted from due until now.
func (m *Machine) newStall(due time.Duration) Event {
	return Event{Kind: Stall, Role: m.role, RoleChanges: m.roleChanges, Generation: uint64(m.halts), Due: due, Late: m.now - due}
}

// electionIsFirst reports whether the election timeout comes before the latest heartbeat
// that is due: by its deadline, or by its arming if both have one deadline.
func (m *Machine) electionIsFirst() bool {
	beat, _ := m.latestHeartbeat()
	if deadline := m.election.deadline(); deadline != beat {
		return deadline < beat
	}
	return m.election.generation < m.heartbeat.generation
}

// setNow adopts the time of a call. If the clock was set back, so are the
// deadlines: what was left of each is left of it still. A contact that lies ahead was
// noted before the clock was set back.
func (m *Machine) setNow(now time.Duration) {
	if back := m.now - now; back > 0 {
		m.election.base -= back
		m.heartbeat.next -= back
	}
	m.now = now
	m.election.base = min(m.election.base, now)
}

// IsCurrent reports whether nothing has happened since an event of this machine that
// makes it stale: no role change; no start, stop or reset of its timer; for an
// election timeout, no contact; for a stall, no stop that left no timer running.
func (m *Machine) IsCurrent(e Event) bool {
	switch {
	case e.RoleChanges != m.roleChanges:
		return false
	case e.Kind == ElectionTimeout:
		return e.Generation == m.election.generation
	case e.Kind == Heartbeat:
		return e.Generation == m.heartbeat.generation
	}
	return e.Generation == uint64(m.halts)
}

// noteStop is called when a timer was stopped: the stalls of timers none of which
// runs any more are stale.
func (m *Machine) noteStop() {
	if m.running == (TimerState{}) {
		m.halts++
	}
}
