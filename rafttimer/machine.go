// SPDX-License-Identifier: Apache-2.0

package rafttimer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Role is what a node is in Raft. It decides which timers run, see
// [Role.Timers].
type Role uint8

// Roles. A [Machine] starts with NoRole: then the caller starts and stops
// single timers.
const (
	NoRole Role = iota
	Follower
	Candidate
	Leader
)

// String returns the role in lower case.
func (r Role) String() string {
	names := [...]string{"node without a role", "follower", "candidate", "leader"}
	if int(r) < len(names) {
		return names[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}

// Timers returns the timers that run in the role: the election timeout of
// followers and candidates, the heartbeats of leaders. With NoRole none has to run.
func (r Role) Timers() TimerState {
	return TimerState{
		ElectionTimeout:   r == Follower || r == Candidate,
		HeartbeatInterval: r == Leader,
	}
}

// TimerState tells which timers run.
type TimerState struct {
	ElectionTimeout   bool
	HeartbeatInterval bool
}

// String returns, for example, "election timeout on, heartbeats off".
func (s TimerState) String() string {
	words := map[bool]string{false: "off", true: "on"}
	return fmt.Sprintf("election timeout %s, heartbeats %s", words[s.ElectionTimeout], words[s.HeartbeatInterval])
}

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
// [NewMachine].
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

// NewMachine returns a machine without a role or a running timer. It draws its election timeouts from
// the source; nil is a source that is seeded at random. The caller must not use the source elsewhere at
// the same time. The error is that of [Config.Validate].
func NewMachine(c Config, source rand.Source) (*Machine, error) {
	c, err := c.WithDefaults()
	if err != nil {
		return nil, err
	}
	if source == nil {
		source = newSource()
	}
	m := newMachine(&c, source)
	return &m, nil
}

// newMachine returns a machine of a complete Config, which any number of machines may share.
func newMachine(c *Config, source rand.Source) Machine {
	return Machine{config: c, random: *rand.New(source)}
}

// newSource returns a source that is seeded at random.
func newSource() rand.Source { return rand.NewPCG(rand.Uint64(), rand.Uint64()) }

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

// BecomeFollower makes the node a follower: the election timeout starts anew,
// heartbeats stop. Call it for each new leader, even where the node is a follower
// already: a node that keeps its roll times out late, since the node with the shortest roll has
// become the leader. (It made the median takeover of five nodes 12 % longer.) Every role may become every other, also the one that it is; each call is a
// role change, so that events from before it are stale.
func (m *Machine) BecomeFollower(now time.Duration) { m.setRole(Follower, now) }

// BecomeCandidate makes the node a candidate: the election timeout, that of the
// election, starts anew, heartbeats stop.
func (m *Machine) BecomeCandidate(now time.Duration) { m.setRole(Candidate, now) }

// BecomeLeader makes the node a leader: the election timeout stops, heartbeats start,
// the first one an interval from now. It ends the back-off.
func (m *Machine) BecomeLeader(now time.Duration) {
	m.failed = 0
	m.setRole(Leader, now)
}

// StopAll stops both timers and takes the role away.
func (m *Machine) StopAll() { m.setRole(NoRole, m.now) }

// setRole gives the node a role, and has exactly the role's timers run.
func (m *Machine) setRole(role Role, now time.Duration) {
	m.setNow(now)
	m.role = role
	m.roleChanges++
	m.stopElection()
	m.stopHeartbeat()
	switch role {
	case Follower, Candidate:
		m.startElection()
	case Leader:
		m.startHeartbeat()
	}
}

var (
	// ErrClosed is returned by the methods of a [Driver], a [Mux] or a [Group] that is closed.
	ErrClosed = errors.New("rafttimer: closed")
	// ErrRole is returned by the verbs of single timers if they would break the rule which
	// timer runs in which role. Nothing has changed then. Change the role instead.
	ErrRole = errors.New("rafttimer: the role forbids it")
)

// roleError is the [ErrRole] of a verb. Nothing has changed.
func (m *Machine) roleError(verb string) error {
	return fmt.Errorf("%w: %s: a %v's timers are %v; change the role instead", ErrRole, verb, m.role, m.role.Timers())
}

// heartbeat is the timer of a leader's heartbeats. They keep a grid: the k-th is
// due k intervals after the start, however late the earlier ones were.
type heartbeat struct {
	generation uint64        // of starts, stops and contacts of both timers, at the latest of this one
	next       time.Duration // deadline
}

// StartHeartbeat starts the heartbeats: the first is due one interval from now.
// A leader that has just been elected sends one itself. If they run already, they
// start anew. Those of a follower or candidate are refused, with [ErrRole].
func (m *Machine) StartHeartbeat(now time.Duration) error {
	if m.role.Timers().ElectionTimeout {
		return m.roleError("StartHeartbeat")
	}
	m.setNow(now)
	m.startHeartbeat()
	return nil
}

// StopHeartbeat stops the heartbeats. If they do not run, nothing happens. Those
// of a leader are refused, with [ErrRole].
func (m *Machine) StopHeartbeat() error {
	if m.role == Leader {
		return m.roleError("StopHeartbeat")
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
