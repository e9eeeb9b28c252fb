// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"math"
	"time"
)

// election is the timer of the election timeout. A contact moves its base and
// leaves the roll: only an arming draws anew. (etcd's issue 4887 shows what
// drawing more often costs: shorter timeouts and more split votes.)
type election struct {
	generation uint64        // of starts, stops and contacts of both timers, at the latest of this one
	base       time.Duration // of the timeout: the arming, or the latest contact
	roll       time.Duration // uniform between the bounds of the Config
	timeout    time.Duration // the roll, stretched by back-off and adaptation
}

func (e *election) deadline() time.Duration { return e.base + e.timeout }

// StartElectionTimeout arms the election timeout anew, with a new roll. If
// it runs already, the new one takes its place. A leader's is refused, with
// [ErrRole].
func (m *Machine) StartElectionTimeout(now time.Duration) error {
	if m.role == Leader {
		return m.roleError("StartElectionTimeout")
	}
	m.setNow(now)
	m.startElection()
	return nil
}

// ResetElectionTimeout is [Machine.StartElectionTimeout]. To note that the
// leader is alive, [Machine.Contact] costs less.
func (m *Machine) ResetElectionTimeout(now time.Duration) error {
	if m.role == Leader {
		return m.roleError("ResetElectionTimeout")
	}
	return m.StartElectionTimeout(now)
}

// StopElectionTimeout stops the election timeout. If it does not run, nothing
// happens. That of a follower or candidate is refused, with [ErrRole].
func (m *Machine) StopElectionTimeout() error {
	if m.role.Timers().ElectionTimeout {
		return m.roleError("StopElectionTimeout")
	}
	m.stopElection()
	m.noteStop()
	return nil
}

// Contact says that the node has heard from a valid leader at a time, which may
// lie before that of the latest call: the election timeout counts from then, events of it are
// stale, and the back-off ends. A contact that lies before the arming, or before another contact,
// changes nothing. One that turns out to lie after the time of the next call counts from that.
// Contact moves numbers: no roll, no allocation.
func (m *Machine) Contact(at time.Duration) {
	if at < m.election.base {
		return
	}
	m.election.base = at
	m.election.generation = m.nextGeneration()
	m.postponed = false
	if m.failed > 0 {
		m.failed = 0
		m.stretchElection()
	}
}

// ContactTimeout returns what the election timeout would be after a contact: the
// present one without back-off; 0 if it does not run. A caller that keeps contacts
// to itself hands the latest in this long after it last did, as well as at
// NextDeadline: a contact that ends the back-off may bring the deadline forward.
func (m *Machine) ContactTimeout() time.Duration {
	switch {
	case !m.running.ElectionTimeout:
		return 0
	case m.failed == 0:
		return m.election.timeout
	}
	return m.stretchRoll(m.adaptationFactor())
}

// ObserveBroadcast takes a measured broadcast time into account: how long a
// message to the other nodes and their answers took. If Config.BroadcastFactor is
// set, the timeouts adapt, that which runs too. A time of zero or less is ignored.
func (m *Machine) ObserveBroadcast(took time.Duration) {
	m.broadcast.addSample(took)
	if m.config.BroadcastFactor > 0 {
		m.stretchElection()
	}
}

// BroadcastTime returns the broadcast time as estimated, a bound for nearly all of them;
// 0 before the first observation.
func (m *Machine) BroadcastTime() time.Duration { return m.broadcast.bound() }

func (m *Machine) startElection() {
	m.stopElection()
	m.armElection()
	m.running.ElectionTimeout = true
}

func (m *Machine) stopElection() {
	m.running.ElectionTimeout = false
	m.election.generation = m.nextGeneration()
}

// nextGeneration numbers the starts, stops and contacts of both timers, so that
// the numbers also tell which timer began to count first.
func (m *Machine) nextGeneration() uint64 {
	return max(m.election.generation, m.heartbeat.generation) + 1
}

// armElection draws a timeout that counts from now.
func (m *Machine) armElection() {
	window := m.config.ElectionTimeoutMax - m.config.ElectionTimeoutMin
	m.election.base, m.postponed = m.now, false
	m.election.roll = m.config.ElectionTimeoutMin + time.Duration(m.random.Int64N(int64(window)+1))
	m.stretchElection()
}

// stretchElection sets the timeout to what back-off and adaptation make of the
// roll. A deadline that comes forward does not come before the latest call: it would
// look as if the caller had missed it.
func (m *Machine) stretchElection() {
	m.election.timeout = m.stretchRoll(m.backoffFactor() * m.adaptationFactor())
	m.election.base = max(m.election.base, m.now-m.election.timeout)
}

// stretchRoll returns the roll times a factor.
func (m *Machine) stretchRoll(factor float64) time.Duration {
	if factor > 1 {
		return multiply(m.election.roll, factor)
	}
	return m.election.roll
}

// backoffFactor returns the factor by which failed elections stretch the timeout.
func (m *Machine) backoffFactor() float64 {
	if m.failed == 0 {
		return 1
	}
	return min(math.Pow(m.config.BackoffFactor, float64(m.failed)), m.config.BackoffLimit)
}

// adaptationFactor returns the factor by which the network stretches the timeout.
func (m *Machine) adaptationFactor() float64 {
	least := multiply(m.broadcast.bound(), m.config.BroadcastFactor)
	least = min(max(least, m.config.ElectionTimeoutMin), m.config.BroadcastLimit)
	return float64(least) / float64(m.config.ElectionTimeoutMin)
}

// postponeElection has the timeout count from now, once: see Machine.postponed.
func (m *Machine) postponeElection() {
	if !m.postponed {
		m.election.base, m.postponed = m.now, true
	}
}

func (m *Machine) fireElectionTimeout(events []Event) []Event {
	due := m.election.deadline()
	if !m.running.ElectionTimeout || due > m.now {
		return events
	}
	if m.role == Candidate && m.failed < math.MaxUint16 {
		m.failed++
	}
	events = append(events, Event{
		Kind: ElectionTimeout, Role: m.role, RoleChanges: m.roleChanges, Generation: m.election.generation,
		Due: due, Late: m.now - due, Failed: int(m.failed),
	})
	if m.running.ElectionTimeout = m.role != NoRole; m.running.ElectionTimeout {
		m.armElection()
	}
	return events
}

// estimate follows measured broadcast times as TCP follows round trips (RFC
// 6298, section 2): a smoothed mean with gain 1/8, and a smoothed deviation with gain
// 1/4.
type estimate struct {
	mean      time.Duration // 0: nothing was observed
	deviation time.Duration
}

// addSample takes a measured time into account; zero and less are not measurements.
func (e *estimate) addSample(took time.Duration) {
	switch took = min(took, maxTimeout); {
	case took <= 0:
	case e.mean == 0:
		e.mean, e.deviation = took, took/2
	default:
		e.deviation += ((took - e.mean).Abs() - e.deviation) / 4
		e.mean += (took - e.mean) / 8
	}
}

// bound returns mean plus four deviations, which few times exceed.
func (e *estimate) bound() time.Duration { return e.mean + 4*min(e.deviation, maxTimeout/4) }
