// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

var roles = []rafttimer.Role{rafttimer.NoRole, rafttimer.Follower, rafttimer.Candidate, rafttimer.Leader}

// table is the specification's: which timers run in which role.
var table = map[rafttimer.Role]rafttimer.TimerState{
	rafttimer.NoRole:    {},
	rafttimer.Follower:  {ElectionTimeout: true},
	rafttimer.Candidate: {ElectionTimeout: true},
	rafttimer.Leader:    {HeartbeatInterval: true},
}

func become(m *rafttimer.Machine, r rafttimer.Role, now time.Duration) {
	switch r {
	case rafttimer.NoRole:
		m.StopAll()
	case rafttimer.Follower:
		m.BecomeFollower(now)
	case rafttimer.Candidate:
		m.BecomeCandidate(now)
	case rafttimer.Leader:
		m.BecomeLeader(now)
	}
}

// After each of the sixteen transitions exactly the timers of the new role run,
// they count from the transition, and what was due before it is stale.
func TestTransitions(t *testing.T) {
	for _, from := range roles {
		for _, to := range roles {
			m := newMachine(t, rafttimer.Config{}, 1)
			become(m, from, 0)
			events := m.Advance(nil, 301*ms)
			become(m, to, 301*ms)
			if m.Role() != to || m.State() != table[to] || to.Timers() != table[to] {
				t.Errorf("%v to %v: a %v with %v", from, to, m.Role(), m.State())
			}
			for _, e := range events {
				if e.Role != from || m.IsCurrent(e) {
					t.Errorf("%v to %v: %v is not stale", from, to, e)
				}
			}
			checkNext(t, m, to, 301*ms)
		}
	}
}

// checkNext checks that the first event of a role that began at now is its own,
// and in time.
func checkNext(t *testing.T, m *rafttimer.Machine, r rafttimer.Role, now time.Duration) {
	t.Helper()
	next, ok := m.NextDeadline()
	if ok != (r != rafttimer.NoRole) {
		t.Fatalf("a %v has a deadline: %v", r, ok)
	}
	if !ok {
		return
	}
	kind, low, high := rafttimer.ElectionTimeout, 150*ms, 300*ms
	if r == rafttimer.Leader {
		kind, low, high = rafttimer.Heartbeat, 50*ms, 50*ms
	}
	if early := m.Advance(nil, next-1); len(early) > 0 {
		t.Errorf("too early: %v", early)
	}
	events := m.Advance(nil, next)
	if len(events) != 1 || events[0].Kind != kind || next-now < low || next-now > high || !m.IsCurrent(events[0]) {
		t.Errorf("a %v has %v at %v", r, events, next-now)
	}
}

// In each role the verbs that would break its table are refused and change
// nothing; the others keep to it.
func TestRolesForbid(t *testing.T) {
	verbs := map[string]func(*rafttimer.Machine) error{
		"StartElectionTimeout": func(m *rafttimer.Machine) error { return m.StartElectionTimeout(1) },
		"ResetElectionTimeout": func(m *rafttimer.Machine) error { return m.ResetElectionTimeout(1) },
		"StopElectionTimeout":  func(m *rafttimer.Machine) error { return m.StopElectionTimeout() },
		"StartHeartbeat":       func(m *rafttimer.Machine) error { return m.StartHeartbeat(1) },
		"StopHeartbeat":        func(m *rafttimer.Machine) error { return m.StopHeartbeat() },
	}
	forbidden := map[rafttimer.Role][]string{
		rafttimer.Follower:  {"StopElectionTimeout", "StartHeartbeat"},
		rafttimer.Candidate: {"StopElectionTimeout", "StartHeartbeat"},
		rafttimer.Leader:    {"StartElectionTimeout", "ResetElectionTimeout", "StopHeartbeat"},
	}
	for _, role := range roles[1:] {
		refused := map[string]bool{}
		for name, verb := range verbs {
			m := newMachine(t, rafttimer.Config{}, 1)
			become(m, role, 0)
			err := verb(m)
			var re *rafttimer.RoleError
			if err != nil {
				refused[name] = errors.Is(err, rafttimer.ErrRole) && errors.As(err, &re) && re.Role == role && re.Verb == name
			}
			if m.State() != table[role] {
				t.Errorf("%s of a %v: %v", name, role, m.State())
			}
		}
		if len(refused) != len(forbidden[role]) {
			t.Errorf("of a %v: refused %v, want %v", role, refused, forbidden[role])
		}
		for _, name := range forbidden[role] {
			if !refused[name] {
				t.Errorf("%s of a %v is not refused by a RoleError of its own", name, role)
			}
		}
	}
}
