// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/rafttimer"
)

// model is the machine as one would write it without thinking of speed: a list
// of timers, walked through nanosecond by nanosecond in effect. It takes its
// election timeouts from the machine under test; other tests check their range.
type model struct {
	config  rafttimer.Config
	role    rafttimer.Role
	now     time.Duration
	timers  []modelTimer // in the order of arming
	timeout time.Duration

	postponed bool // the election timeout, by a stall, since its arming or the latest contact
}

type modelTimer struct {
	kind rafttimer.Kind
	due  time.Duration
}

func (m *model) remove(k rafttimer.Kind) {
	m.timers = slices.DeleteFunc(m.timers, func(t modelTimer) bool { return t.kind == k })
}

func (m *model) arm(k rafttimer.Kind, due time.Duration) {
	m.remove(k)
	m.timers = append(m.timers, modelTimer{k, due})
}

func (m *model) find(k rafttimer.Kind) *modelTimer {
	i := slices.IndexFunc(m.timers, func(t modelTimer) bool { return t.kind == k })
	if i < 0 {
		return nil
	}
	return &m.timers[i]
}

// setNow moves the clock; one that is set back takes all deadlines along.
func (m *model) setNow(now time.Duration) {
	if now < m.now {
		for i := range m.timers {
			m.timers[i].due -= m.now - now
		}
	}
	m.now = now
	if e := m.find(rafttimer.ElectionTimeout); e != nil {
		e.due = min(e.due, now+m.timeout) // a contact that lay ahead
	}
}

// advance returns what is due, described.
func (m *model) advance(now time.Duration) (said []string) {
	m.setNow(now)
	byDeadline := func(a, b modelTimer) int { return cmp.Compare(a.due, b.due) }
	if len(m.timers) > 0 {
		said = m.stall(slices.MinFunc(m.timers, byDeadline).due)
	}
	byLatest := func(a, b modelTimer) int { return cmp.Compare(m.latest(a), m.latest(b)) }
	for _, t := range slices.SortedStableFunc(slices.Values(m.timers), byLatest) {
		if live := m.find(t.kind); live.due <= now {
			said = append(said, m.fire(live))
		}
	}
	return said
}

// stall says that nothing was done since a deadline, if that is long ago.
func (m *model) stall(since time.Duration) []string {
	if m.now-since <= m.config.StallThreshold {
		return nil
	}
	if e := m.find(rafttimer.ElectionTimeout); e != nil && e.due <= m.now && !m.postponed {
		e.due, m.postponed = m.now+m.timeout, true
	}
	return []string{fmt.Sprintf("stall %v", m.now-since)}
}

// latest returns the latest deadline of a timer that has passed, or its next one.
func (m *model) latest(t modelTimer) time.Duration {
	for t.kind == rafttimer.Heartbeat && t.due+m.config.HeartbeatInterval <= m.now {
		t.due += m.config.HeartbeatInterval
	}
	return t.due
}

func (m *model) fire(t *modelTimer) string {
	if t.kind == rafttimer.ElectionTimeout {
		due := t.due
		if t.due = -1; m.role == rafttimer.NoRole { // armed anew by the test, which knows the roll
			m.remove(t.kind)
		}
		return fmt.Sprintf("election %v", due)
	}
	missed := -1
	for ; t.due <= m.now; t.due += m.config.HeartbeatInterval {
		missed++
	}
	return fmt.Sprintf("heartbeat %v missed %d", t.due-m.config.HeartbeatInterval, missed)
}

func describe(events []rafttimer.Event) (said []string) {
	for _, e := range events {
		switch e.Kind {
		case rafttimer.Stall:
			said = append(said, fmt.Sprintf("stall %v", e.Late))
		case rafttimer.ElectionTimeout:
			said = append(said, fmt.Sprintf("election %v", e.Due))
		case rafttimer.Heartbeat:
			said = append(said, fmt.Sprintf("heartbeat %v missed %d", e.Due, e.Missed))
		}
	}
	return said
}

// FuzzMachine runs a program of verbs, two bytes each, on a machine and on the
// model.
func FuzzMachine(f *testing.F) {
	f.Add(uint64(1), []byte{1, 0, 9, 100, 9, 200, 2, 0, 9, 255, 3, 0, 9, 50, 9, 60, 9, 255})
	f.Add(uint64(2), []byte{4, 0, 7, 0, 9, 50, 9, 100, 10, 30, 9, 200, 5, 0, 6, 0, 9, 250})
	f.Fuzz(func(t *testing.T, seed uint64, program []byte) {
		config := rafttimer.Config{StallThreshold: 120 * ms}
		complete, err := config.WithDefaults()
		if err != nil {
			t.Fatal(err)
		}
		p := pair{t: t, machine: newMachine(t, config, seed), model: &model{config: complete}}
		for ; len(program) >= 2; program = program[2:] {
			p.step(program[0]%13, time.Duration(program[1])*2*ms)
		}
	})
}

// pair is a machine and its model, which take the same steps.
type pair struct {
	t       *testing.T
	machine *rafttimer.Machine
	model   *model
	now     time.Duration
}

func (p *pair) step(verb byte, d time.Duration) {
	switch verb {
	case 0, 1, 2, 3:
		p.become(roles[verb])
	case 4:
		p.verb(p.machine.StartElectionTimeout(p.now), func() { p.model.arm(rafttimer.ElectionTimeout, -1) })
	case 5:
		p.verb(p.machine.StopElectionTimeout(), func() { p.model.remove(rafttimer.ElectionTimeout) })
	case 6:
		p.verb(p.machine.StopHeartbeat(), func() { p.model.remove(rafttimer.Heartbeat) })
	case 7:
		interval := p.model.config.HeartbeatInterval
		p.verb(p.machine.StartHeartbeat(p.now), func() {
			p.model.setNow(p.now)
			p.model.arm(rafttimer.Heartbeat, p.now+interval)
		})
	case 8:
		p.contact(p.now - d)
	case 12:
		p.contact(p.now + d) // before the clock is set back
	case 9, 11:
		p.advance(p.now + d)
	case 10:
		p.advance(p.now - d) // the clock is set back
	}
	p.learnRoll()
	p.compare()
}

func (p *pair) become(r rafttimer.Role) {
	become(p.machine, r, p.now)
	p.model.role, p.model.timers = r, nil
	switch {
	case r.Timers().ElectionTimeout:
		p.model.arm(rafttimer.ElectionTimeout, -1)
	case r == rafttimer.Leader:
		p.model.arm(rafttimer.Heartbeat, p.now+p.model.config.HeartbeatInterval)
	}
}

func (p *pair) verb(err error, apply func()) {
	if err == nil {
		apply()
	}
}

func (p *pair) contact(at time.Duration) {
	p.machine.Contact(at)
	if e := p.model.find(rafttimer.ElectionTimeout); e != nil {
		if due := at + p.model.timeout; due >= e.due {
			e.due, p.model.postponed = due, false
			p.model.arm(e.kind, due) // it counts anew: it comes after what was armed before
		}
	}
}

func (p *pair) advance(now time.Duration) {
	p.now = now
	got, want := describe(p.machine.Advance(nil, now)), p.model.advance(now)
	if !slices.Equal(got, want) {
		p.t.Fatalf("at %v: %q, the model has %q", now, got, want)
	}
}

// learnRoll takes over the timeout of an arming, marked by a deadline of -1.
func (p *pair) learnRoll() {
	e := p.model.find(rafttimer.ElectionTimeout)
	if e == nil || e.due != -1 {
		return
	}
	alone := *p.machine // the heartbeats of the copy may be in the way
	alone.StopHeartbeat()
	p.model.timeout = timeout(p.t, &alone, p.now)
	if p.model.timeout < 150*ms || p.model.timeout > 300*ms {
		p.t.Fatalf("a roll of %v", p.model.timeout)
	}
	e.due, p.model.postponed = p.now+p.model.timeout, false
}

func (p *pair) compare() {
	state := rafttimer.TimerState{
		ElectionTimeout:   p.model.find(rafttimer.ElectionTimeout) != nil,
		HeartbeatInterval: p.model.find(rafttimer.Heartbeat) != nil,
	}
	if p.machine.State() != state || p.machine.Role() != p.model.role {
		p.t.Fatalf("at %v: a %v with %v, the model is a %v with %v", p.now, p.machine.Role(), p.machine.State(), p.model.role, state)
	}
	got, ok := p.machine.NextDeadline()
	want := time.Duration(1 << 62)
	for _, t := range p.model.timers {
		want = min(want, t.due)
	}
	if ok != (len(p.model.timers) > 0) || ok && got != want {
		p.t.Fatalf("at %v: the deadline is %v (%v), the model has %v", p.now, got, ok, p.model.timers)
	}
}
