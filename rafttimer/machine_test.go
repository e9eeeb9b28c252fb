// SPDX-License-Identifier: Apache-2.0

package rafttimer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/kazahana-db/kazahana/rafttimer"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// sleep sleeps in a bubble of synctest, and waits until the other goroutines have done what is
// due by then. The race detector knows that they have.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// newMachine returns a machine that draws its rolls from a seed.
func newMachine(t testing.TB, c rafttimer.Config, seed uint64) *rafttimer.Machine {
	t.Helper()
	m, err := rafttimer.NewMachine(c, rand.NewPCG(seed, 0))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newDriver returns a driver that the end of the test closes.
func newDriver(t testing.TB, o rafttimer.Options) *rafttimer.Driver {
	t.Helper()
	d, err := rafttimer.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// TestScripts runs the scripts of testdata/scripts. Their commands:
//
//	machine [seed=N] [min=D] [max=D] [heartbeat=D] [stall=D] [backoff=F] [limit=F] [broadcast=F] [bound=D]
//	become role=R | start timer=T | reset | stop timer=T | stop-all
//	contact [at=D] | broadcast D | advance D | advance-to-next | clock D | stalled D
//	expect                  the deadline, the timers, the role
//
// advance and clock move the time by D; clock, unlike advance, only the next
// command tells the machine.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := script{t: t}
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	t       *testing.T
	machine *rafttimer.Machine
	now     time.Duration
	last    []rafttimer.Event
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "machine" {
		s.create(d)
		return ""
	}
	if f, ok := s.commands()[d.Cmd]; ok {
		return f(d)
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

func (s *script) commands() map[string]func(*datadriven.TestData) string {
	return map[string]func(*datadriven.TestData) string{
		"become":    s.become,
		"start":     s.start,
		"stop":      s.stop,
		"reset":     func(*datadriven.TestData) string { return said(s.machine.ResetElectionTimeout(s.now)) },
		"stop-all":  func(*datadriven.TestData) string { s.machine.StopAll(); return "" },
		"contact":   s.contact,
		"broadcast": s.broadcast,
		"clock":     func(d *datadriven.TestData) string { s.now += s.duration(d); return "" },
		"advance":   func(d *datadriven.TestData) string { s.now += s.duration(d); return s.advance() },
		"advance-to-next": func(*datadriven.TestData) string {
			s.now, _ = s.machine.NextDeadline()
			return s.advance()
		},
		"stalled": func(d *datadriven.TestData) string {
			return s.events(s.machine.NoteStall(nil, s.now, s.duration(d)))
		},
		"current": s.current,
		"expect":  s.expect,
	}
}

func (s *script) create(d *datadriven.TestData) {
	var seed uint64
	var c rafttimer.Config
	d.MaybeScanArgs(s.t, "seed", &seed)
	for key, field := range map[string]*time.Duration{
		"min": &c.ElectionTimeoutMin, "max": &c.ElectionTimeoutMax, "heartbeat": &c.HeartbeatInterval,
		"stall": &c.StallThreshold, "bound": &c.BroadcastLimit,
	} {
		var text string
		if d.MaybeScanArgs(s.t, key, &text) {
			*field = s.parse(d, text)
		}
	}
	for key, field := range map[string]*float64{"backoff": &c.BackoffFactor, "limit": &c.BackoffLimit, "broadcast": &c.BroadcastFactor} {
		var text string
		if d.MaybeScanArgs(s.t, key, &text) {
			if _, err := fmt.Sscan(text, field); err != nil {
				d.Fatalf(s.t, "%v", err)
			}
		}
	}
	s.machine, s.now, s.last = newMachine(s.t, c, seed), 0, nil
}

func (s *script) parse(d *datadriven.TestData, text string) time.Duration {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	return parsed
}

func (s *script) duration(d *datadriven.TestData) time.Duration {
	return s.parse(d, d.CmdArgs[0].Key)
}

func (s *script) become(d *datadriven.TestData) string {
	roles := map[string]func(time.Duration){
		"follower": s.machine.BecomeFollower, "candidate": s.machine.BecomeCandidate, "leader": s.machine.BecomeLeader,
	}
	roles[d.CmdArgs[0].Key](s.now)
	return ""
}

func (s *script) start(d *datadriven.TestData) string {
	if d.CmdArgs[0].Key == "election" {
		return said(s.machine.StartElectionTimeout(s.now))
	}
	return said(s.machine.StartHeartbeat(s.now))
}

func (s *script) stop(d *datadriven.TestData) string {
	if d.CmdArgs[0].Key == "election" {
		return said(s.machine.StopElectionTimeout())
	}
	return said(s.machine.StopHeartbeat())
}

func (s *script) contact(d *datadriven.TestData) string {
	at := s.now
	if len(d.CmdArgs) > 0 {
		at = s.duration(d)
	}
	s.machine.Contact(at)
	return ""
}

func (s *script) broadcast(d *datadriven.TestData) string {
	s.machine.ObserveBroadcast(s.duration(d))
	return fmt.Sprintf("estimate %v\n", s.machine.BroadcastTime())
}

func (s *script) advance() string { return s.events(s.machine.Advance(nil, s.now)) }

func (s *script) events(events []rafttimer.Event) string {
	s.last = events
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "%v [role changes %d generation %d failed %d]\n", e, e.RoleChanges, e.Generation, e.Failed)
	}
	return b.String()
}

func (s *script) current(*datadriven.TestData) string {
	var b strings.Builder
	for _, e := range s.last {
		fmt.Fprintf(&b, "%v: %v\n", e.Kind, s.machine.IsCurrent(e))
	}
	return b.String()
}

func (s *script) expect(*datadriven.TestData) string {
	line := fmt.Sprintf("at %v a %v, %v", s.now, s.machine.Role(), s.machine.State())
	if deadline, ok := s.machine.NextDeadline(); ok {
		return fmt.Sprintf("%s, next in %v\n", line, deadline-s.now)
	}
	return line + ", no deadline\n"
}

func said(err error) string {
	if err == nil {
		return ""
	}
	if !errors.Is(err, rafttimer.ErrRole) {
		return fmt.Sprintf("not an ErrRole: %v\n", err)
	}
	return err.Error() + "\n"
}

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
			if err != nil {
				refused[name] = errors.Is(err, rafttimer.ErrRole) && strings.Contains(err.Error(), fmt.Sprintf(": %s: a %v's timers", name, role))
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
				t.Errorf("%s of a %v is not refused by an ErrRole that names both", name, role)
			}
		}
	}
}
