// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "time"

// StartHeartbeat starts the heartbeats: the first is due one interval from now.
// A leader that has just been elected sends one itself. If they run already, they
// start anew. Those of a follower or candidate are refused, with a [*RoleError].
func (m *Machine) StartHeartbeat(now time.Duration) error {
	if m.role.Timers().ElectionTimeout {
		return &RoleError{m.role, "StartHeartbeat"}
	}
	m.setNow(now)
	m.startHeartbeat()
	return nil
}

// StopHeartbeat stops the heartbeats. If they do not run, nothing happens. Those
// of a leader are refused, with a [*RoleError].
func (m *Machine) StopHeartbeat() error {
	if m.role == Leader {
		return &RoleError{m.role, "StopHeartbeat"}
	}
	m.stopHeartbeat()
	m.noteStop()
	return nil
}

func (m *Machine) startHeartbeat() {
	m.stopHeartbeat()
	m.heartbeat.next = m.now + m.config.HeartbeatInterval
	m.running.HeartbeatInterval = true
}

func (m *Machine) stopHeartbeat() {
	m.running.HeartbeatInterval = false
	m.heartbeat.generation = m.nextGeneration()
}

// fireHeartbeat makes one event of all heartbeats that are due: the latest.
func (m *Machine) fireHeartbeat(events []Event) []Event {
	due, missed := m.latestHeartbeat()
	if !m.running.HeartbeatInterval || due > m.now {
		return events
	}
	m.heartbeat.next = due + m.config.HeartbeatInterval
	return append(events, Event{
		Kind: Heartbeat, Role: m.role, RoleChanges: m.roleChanges, Generation: m.heartbeat.generation,
		Due: due, Late: m.now - due, Missed: missed,
	})
}

// latestHeartbeat returns the deadline of the latest heartbeat that is due, and how many
// before it are due too; if none is due, the next deadline.
func (m *Machine) latestHeartbeat() (due time.Duration, missed int) {
	late := max(m.now-m.heartbeat.next, 0)
	passed := late / m.config.HeartbeatInterval
	return m.heartbeat.next + passed*m.config.HeartbeatInterval, int(passed)
}
