// SPDX-License-Identifier: Apache-2.0

package rafttimer

import "time"

// BecomeFollower is [Machine.BecomeFollower]. The callbacks are those of the
// Options, for every role.
func (d *Driver) BecomeFollower() error { return d.changeRole((*Machine).BecomeFollower) }

// BecomeCandidate is [Machine.BecomeCandidate].
func (d *Driver) BecomeCandidate() error { return d.changeRole((*Machine).BecomeCandidate) }

// BecomeLeader is [Machine.BecomeLeader].
func (d *Driver) BecomeLeader() error { return d.changeRole((*Machine).BecomeLeader) }

func (d *Driver) changeRole(role func(*Machine, time.Duration)) error {
	return d.changeTimers(func(m *Machine, now time.Duration) error {
		d.election, d.beat = nil, nil
		role(m, now)
		return nil
	})
}

// StartElectionTimeout is [Machine.StartElectionTimeout], with a callback for this
// timer; nil stands for Options.OnElectionTimeout.
func (d *Driver) StartElectionTimeout(callback func(Event)) error {
	return d.startElection((*Machine).StartElectionTimeout, callback)
}

// ResetElectionTimeout is [Machine.ResetElectionTimeout], with a callback as
// StartElectionTimeout has it.
func (d *Driver) ResetElectionTimeout(callback func(Event)) error {
	return d.startElection((*Machine).ResetElectionTimeout, callback)
}

func (d *Driver) startElection(start func(*Machine, time.Duration) error, callback func(Event)) error {
	return d.changeTimers(func(m *Machine, now time.Duration) error {
		if err := start(m, now); err != nil {
			return err
		}
		d.election = callback
		return nil
	})
}

// StopElectionTimeout is [Machine.StopElectionTimeout].
func (d *Driver) StopElectionTimeout() error {
	return d.changeTimers(func(m *Machine, _ time.Duration) error { return m.StopElectionTimeout() })
}

// StartHeartbeat is [Machine.StartHeartbeat], with a callback for this timer; nil
// stands for Options.OnHeartbeat.
func (d *Driver) StartHeartbeat(callback func(Event)) error {
	return d.changeTimers(func(m *Machine, now time.Duration) error {
		if err := m.StartHeartbeat(now); err != nil {
			return err
		}
		d.beat = callback
		return nil
	})
}

// StopHeartbeat is [Machine.StopHeartbeat].
func (d *Driver) StopHeartbeat() error {
	return d.changeTimers(func(m *Machine, _ time.Duration) error { return m.StopHeartbeat() })
}

// StopAll is [Machine.StopAll].
func (d *Driver) StopAll() error {
	return d.changeTimers(func(m *Machine, _ time.Duration) error {
		m.StopAll()
		return nil
	})
}
