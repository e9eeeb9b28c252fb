// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
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

// UpdateTopology puts a topology in force. It does not touch activations: a key
// that has a new authority moves when it is resolved next, or in ticks. A topology
// of the version in force changes nothing. The errors are those of
// [Topology.Validate], an [ErrStaleTopology] and, for good, [ErrDead].
//
// A topology also has the last word on this member. Until one lists it, the
// coordinator is not ready. A topology in which it is missing after that, or in which its name
// has a greater incarnation, says that others take it for dead: the coordinator loses all it has, as by
// [Coordinator.LoseAll].
func (c *Coordinator) UpdateTopology(t Topology, now time.Time) (Outcome, error) {
	c.beginCall(now)
	if err := t.Validate(); err != nil {
		c.emit(Event{Kind: TopologyRefused, Topology: t.Version, Reason: err.Error()})
		return c.out, err
	}
	switch {
	case c.dead != "":
		return c.out, ErrDead
	case c.view != nil && t.Version == c.view.version:
		return c.out, nil
	case c.view != nil && t.Version < c.view.version:
		err := topologyError(t.Version, fmt.Errorf("%w, %d", ErrStaleTopology, c.view.version))
		c.emit(Event{Kind: TopologyRefused, Topology: t.Version, Reason: err.Error()})
		return c.out, err
	}
	c.enforceView(newView(t, c.o.Self))
	return c.out, nil
}

// OnMemberLeft takes a member out of the topology in force, before a newer one
// tells of it. A later incarnation of its name stays: the news of its predecessor's
// end may come after it. If the member is Self, all is lost, as by [Coordinator.LoseAll].
func (c *Coordinator) OnMemberLeft(o Owner, now time.Time) Outcome {
	c.beginCall(now)
	if c.dead != "" || c.view == nil || !c.view.isAlive(o) {
		return c.out
	}
	left := func(m Member) bool { return m.Owner == o }
	c.enforceView(newView(Topology{Version: c.view.version, Members: slices.DeleteFunc(slices.Clone(c.view.members), left)}, c.o.Self))
	return c.out
}

// enforceView puts a view in force and finds out what it says of this member.
func (c *Coordinator) enforceView(v *view) {
	c.view = v
	c.generation++
	c.active.StartScan()
	c.emit(Event{Kind: TopologyChanged, Reason: fmt.Sprintf("%d members", len(v.members))})
	c.applyView()
}

// Snapshot returns a copy of the coordinator's state. It takes time in proportion to the
// activations; [Coordinator.Held] returns the count alone.
func (c *Coordinator) Snapshot() Snapshot {
	s := Snapshot{
		Self: c.o.Self, State: c.state, Dead: c.dead, Locations: c.places.Len(), Held: c.Held(),
		Activations: make([]ActiveKey, 0, c.active.Len()), Requests: make([]PendingRequest, 0, c.works.Len()),
	}
	if c.view != nil {
		s.Topology, s.Members = c.view.version, len(c.view.members)
	}
	for n := c.active.Oldest(); n != nil; n = n.Next() {
		s.Activations = append(s.Activations, c.activeKey(n.Key, n.Value))
	}
	slices.SortFunc(s.Activations, func(a, b ActiveKey) int {
		return cmp.Or(cmp.Compare(a.Key.Kind, b.Key.Kind), cmp.Compare(a.Key.ID, b.Key.ID))
	})
	for n := c.works.Oldest(); n != nil; n = n.Next() {
		s.Requests = append(s.Requests, c.pendingRequest(n.Value))
	}
	return s
}

func (c *Coordinator) activeKey(key Key, a activation) ActiveKey {
	return ActiveKey{Key: key, Epoch: a.epoch, PID: a.pid, Topology: a.topology, Idle: c.clock - a.used}
}

func (c *Coordinator) pendingRequest(w *work) PendingRequest {
	p := PendingRequest{
		Request: w.id, Key: w.key, Step: w.step.String(), Epoch: w.lease.Epoch, Cause: w.cause,
		Waiting: w.wait.id, Waiters: w.wait.count,
	}
	if w.wait.id != 0 {
		p.Age = c.clock - w.wait.began
	}
	if w.retryAt != 0 {
		p.Retry = max(1, w.retryAt-c.clock)
	}
	return p
}

// Explain says why a key is where it is. It changes nothing and gives no event.
func (c *Coordinator) Explain(key Key, now time.Time) Explanation {
	c.beginCall(now)
	e := Explanation{Key: key, Self: c.o.Self, State: c.state, Strategy: c.name}
	if e.Err = key.Validate(); e.Err != nil {
		return e
	}
	c.explainHere(&e)
	if c.view == nil {
		e.Err = ErrNotReady
		return e
	}
	e.Topology = c.view.version
	e.Decision, e.Err = c.decideAuthority(key)
	e.Candidates = c.candidates(key, e.Decision.Authority)
	return e
}

// explainHere adds what this member has for the key.
func (c *Coordinator) explainHere(e *Explanation) {
	if n := c.active.Get(e.Key); n != nil {
		a := c.activeKey(n.Key, n.Value)
		e.Active = &a
	}
	if w := c.workOfKey(e.Key); w != nil {
		p := c.pendingRequest(w)
		e.Pending = &p
	}
	if n := c.places.Get(e.Key); n != nil && n.Value.Owner != c.o.Self {
		h := n.Value
		e.Location = &h
	}
}

func (c *Coordinator) candidates(key Key, authority Owner) []Candidate {
	all := c.view.kinds[key.Kind]
	found := make([]Candidate, len(c.view.members))
	for i, m := range c.view.members {
		found[i] = Candidate{Owner: m.Owner, Address: m.Address, Load: m.Load}
		at := slices.IndexFunc(all.Members, func(other Member) bool { return other.Owner == m.Owner })
		found[i].Eligible, found[i].Reason = at >= 0, ineligible(m, key.Kind)
		if s, scores := c.o.Strategy.(Scorer); scores && at >= 0 {
			found[i].Score = scoreOf(s, key, all, at)
		}
		if m.Owner == authority {
			found[i].Reason = "chosen"
		}
	}
	return found
}

// scoreOf returns a member's score, 0 if the strategy panics: the decision then tells why.
func scoreOf(s Scorer, key Key, all Candidates, at int) (score uint64) {
	defer func() {
		if recover() != nil {
			score = 0
		}
	}()
	return s.Score(key, all, at)
}

// ineligible says why a member cannot get a key of a kind.
func ineligible(m Member, kind string) string {
	switch {
	case !slices.Contains(m.Kinds, kind):
		return "it does not activate the kind"
	case m.Draining:
		return "it is draining"
	}
	return ""
}

// Snapshot is a copy of the state of a [Coordinator], for people and tests.
type Snapshot struct {
	Self        Owner
	State       State
	Dead        string // why others take Self for dead; empty: they do not
	Topology    int64  // the version in force; 0: none is known
	Members     int    // of the topology
	Locations   int    // cached, of activations elsewhere and of earlier ones here
	Held        int    // as Coordinator.Held
	Activations []ActiveKey
	Requests    []PendingRequest
}

// ActiveKey is an activation in use. A [Snapshot] has them by key.
type ActiveKey struct {
	Key      Key
	Epoch    int64
	PID      string
	Topology int64         // the version by which it belongs here
	Idle     time.Duration // since it was used last
}

// PendingRequest is what is under way for a key: a request that activates it, the
// end of an activation, or the return of a lease. A [Snapshot] has them by id.
type PendingRequest struct {
	Request RequestID // of its commands
	Key     Key
	Step    string        // acquire, load, ensure, store, deactivate, release or remove
	Epoch   int64         // of the lease that it has; 0: none yet
	Cause   Cause         // why an activation ends
	Waiting RequestID     // what resolves wait for; 0: none waits
	Waiters int           // how many resolves wait
	Age     time.Duration // of what they wait for
	// Retry is the time until a failed step is repeated. 0: the step is under way.
	Retry time.Duration
}

// Explanation says why a key is where it is, as one coordinator sees it.
type Explanation struct {
	Key        Key
	Self       Owner
	State      State
	Topology   int64 // the version in force; 0: none is known
	Strategy   string
	Decision   Decision // by the topology in force, if Err is nil
	Err        error    // why there is no decision: an ErrInvalidKey, ErrNotReady, or an ErrNoMember
	Candidates []Candidate
	Active     *ActiveKey      // the activation here; nil: there is none
	Pending    *PendingRequest // what is under way for the key; nil: nothing
	Location   *Holder         // the cached location of an activation elsewhere; nil: none
}

// Candidate is a member as the strategy sees it for a key. An [Explanation] has
// them by name.
type Candidate struct {
	Owner    Owner
	Address  string
	Eligible bool   // it can get the key
	Reason   string // why it can not, or that it was chosen
	Score    uint64 // of a strategy that is a Scorer, if it is eligible
	Load     int64
}
