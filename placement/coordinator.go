// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/placement/internal/recency"
)

// State is what a [Coordinator] does.
type State uint8

// The states.
const (
	StateStopped  State = iota // it refuses resolves, and may still be giving leases and activations back
	StateNotReady              // it refuses resolves until a topology says where keys belong
	StateMember                // it activates keys
	StateClient                // it finds out where keys are, and activates none
)

// String returns the name of the state.
func (s State) String() string { return name(uint8(s), "Stopped", "NotReady", "Member", "Client") }

// Coordinator decides where keys are active. It does no I/O, reads no clock and
// starts no goroutine: each method takes what has happened and returns what
// to do. The same calls give the same outcomes. It is not safe for concurrent use.
//
// The argument now is the time of a call. It need not grow: if the clock is set back,
// timeouts are late by as much as it was set back.
type Coordinator struct {
	o     Options
	name  string // of the strategy
	state State
	role  State    // what it was started as: StateMember or StateClient
	kinds []string // that it was started with
	dead  string   // why others take it for dead; empty: they do not

	view       *view // nil: no topology is known
	generation int64 // of the view; it grows with each change
	joined     bool  // a topology has listed this member

	active   *recency.Map[Key, activation]  // in the order of use
	places   *recency.Map[Key, Holder]      // where keys are that others have; the last epochs of keys that this member had
	works    *recency.Map[RequestID, *work] // all that is under way, by id
	byKey    map[Key]*work                  // those that a key waits for
	waits    map[RequestID]*work            // those that resolves wait for, by what they wait for
	requests int                            // works that are to activate a key
	last     RequestID                      // the greatest id so far

	now   time.Time     // of the present call
	clock time.Duration // how much of time has passed, by all calls
	out   Outcome       // of the present call
	found Resolution    // what out.Resolution points to
}

// activation is what is kept of an active key. There may be millions.
type activation struct {
	epoch    int64
	topology int64         // the version by which it belongs here
	checked  int64         // the generation of the view when that was found
	used     time.Duration // on the coordinator's clock
	pid      string
}

// NewCoordinator returns a coordinator that is stopped. The error has all faults
// of the options.
func NewCoordinator(o Options) (*Coordinator, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("placement: the options are invalid: %w", err)
	}
	o = o.withDefaults()
	return &Coordinator{
		o: o, name: o.Strategy.Name(),
		active: recency.New[Key, activation](),
		places: recency.New[Key, Holder](),
		works:  recency.New[RequestID, *work](),
		byKey:  map[Key]*work{},
		waits:  map[RequestID]*work{},
	}, nil
}

// State returns the state.
func (c *Coordinator) State() State { return c.state }

// StartMember starts the coordinator as that of a member that activates keys of these
// kinds. It is ready once a topology lists Self. The errors are [ErrStarted], also
// while a coordinator that was stopped still holds anything, and [ErrDead].
func (c *Coordinator) StartMember(kinds []string, now time.Time) (Outcome, error) {
	c.beginCall(now)
	if err := kindFaults(kinds); err != nil {
		return c.out, fmt.Errorf("placement: the kinds are invalid: %w", err)
	}
	return c.startAs(StateMember, kinds)
}

// StartClient starts the coordinator as that of a client, which activates nothing. It
// is ready once there is a topology. The errors are those of [Coordinator.StartMember].
func (c *Coordinator) StartClient(now time.Time) (Outcome, error) {
	c.beginCall(now)
	return c.startAs(StateClient, nil)
}

func (c *Coordinator) startAs(role State, kinds []string) (Outcome, error) {
	switch {
	case c.dead != "":
		return c.out, ErrDead
	case c.state != StateStopped:
		return c.out, ErrStarted
	case c.Held() > 0:
		return c.out, fmt.Errorf("%w: it still gives back %d activations and leases", ErrStarted, c.Held())
	}
	c.state, c.role, c.kinds, c.joined = StateNotReady, role, slices.Clone(kinds), false
	c.applyView()
	return c.out, nil
}

// applyView acts on what the view says about this member.
func (c *Coordinator) applyView() {
	switch {
	case c.view == nil || c.state == StateStopped:
	case c.role == StateClient:
		c.setState(StateClient)
	default:
		c.applyMemberView()
	}
}

func (c *Coordinator) applyMemberView() {
	i, listed := c.view.index[c.o.Self.Name]
	switch {
	case listed && c.view.members[i].Owner == c.o.Self:
		c.joined = true
		c.setState(StateMember)
	case listed && c.view.members[i].Incarnation > c.o.Self.Incarnation:
		c.loseAll(fmt.Sprintf("topology %d lists %s", c.view.version, c.view.members[i].Owner))
	case c.joined:
		c.loseAll(fmt.Sprintf("topology %d does not list %s any more", c.view.version, c.o.Self))
	}
}

func (c *Coordinator) setState(s State) {
	if c.state != s {
		c.state = s
		c.emit(Event{Kind: Started, Owner: c.o.Self, Reason: s.String()})
	}
}

// beginCall begins a call.
func (c *Coordinator) beginCall(now time.Time) {
	if !c.now.IsZero() {
		c.clock += max(0, now.Sub(c.now))
	}
	c.now = now
	c.out = Outcome{
		Commands:    reuse(c.out.Commands),
		Answers:     reuse(c.out.Answers),
		Events:      reuse(c.out.Events),
		CacheEvents: reuse(c.out.CacheEvents),
	}
}

// reuse empties a slice, or drops it if it has grown large.
func reuse[T any](s []T) []T {
	if cap(s) > 1024 {
		return nil
	}
	clear(s) // snapshots may be large
	return s[:0]
}

// emit adds an event.
func (c *Coordinator) emit(e Event) {
	e.ObservedAt = c.now
	if e.Topology == 0 && c.view != nil {
		e.Topology = c.view.version
	}
	c.out.Events = append(c.out.Events, e)
}

func (c *Coordinator) addCommand(cmd Command) { c.out.Commands = append(c.out.Commands, cmd) }

// nextID returns a request id that was not used before.
func (c *Coordinator) nextID() RequestID {
	c.last++
	return c.last
}
