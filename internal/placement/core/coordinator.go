// SPDX-License-Identifier: Apache-2.0

// Package core decides where keys are active. Its [Coordinator] does no I/O: package driver executes what
// it decides.
//
//	c, err := core.NewCoordinator(core.Options{Self: placement.Owner{Name: "a", Incarnation: 1}, Address: "10.0.0.1:7000"})
//	c.StartMember([]string{"account"}, now)
//	c.UpdateTopology(topology, now) // which members there are
//	out, err := c.Resolve(placement.Key{Kind: "account", ID: "alice"}, now)
//	if out.Resolution != nil {
//		return *out.Resolution // active here, or at another member
//	}
//	for _, command := range out.Commands { // claim the key, activate it, store where it is
//		results <- execute(command)
//	}
//	out, err = c.HandleCommandResult(<-results, now) // more commands; in the end out.Answers has the answer to out.Request
//
// It answers every resolve once. A [Partition] is a lookup over a coordinator that its caller polls.
package core

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/recency"
	"github.com/kazahana-db/kazahana/placement"
)

// Coordinator decides where keys are active. It does no I/O, reads no clock and
// starts no goroutine: each method takes what has happened and returns what
// to do. The same calls give the same outcomes. It is not safe for concurrent use.
//
// The argument now is the time of a call. It need not grow: if the clock is set back,
// timeouts are late by as much as it was set back.
type Coordinator struct {
	o     Options
	name  string // of the strategy
	state placement.State
	role  placement.State // what it was started as: StateMember or StateClient
	kinds []string        // that it was started with
	dead  string          // why others take it for dead; empty: they do not

	view       *view // nil: no topology is known
	generation int64 // of the view; it grows with each change
	joined     bool  // a topology has listed this member

	active   *recency.Map[placement.Key, activation]       // in the order of use
	places   *recency.Map[placement.Key, placement.Holder] // where keys are that others have; the last epochs of keys that this member had
	works    *recency.Map[placement.RequestID, *work]      // all that is under way, by id
	byKey    map[placement.Key]*work                       // those that a key waits for
	waits    map[placement.RequestID]*work                 // those that resolves wait for, by what they wait for
	requests int                                           // works that are to activate a key
	last     placement.RequestID                           // the greatest id so far

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
		active: recency.New[placement.Key, activation](),
		places: recency.New[placement.Key, placement.Holder](),
		works:  recency.New[placement.RequestID, *work](),
		byKey:  map[placement.Key]*work{},
		waits:  map[placement.RequestID]*work{},
	}, nil
}

// State returns the state.
func (c *Coordinator) State() placement.State { return c.state }

// StartMember starts the coordinator as that of a member that activates keys of these
// kinds. It is ready once a topology lists Self. The errors are [placement.ErrStarted], also
// while a coordinator that was stopped still holds anything, and [placement.ErrDead].
func (c *Coordinator) StartMember(kinds []string, now time.Time) (Outcome, error) {
	c.beginCall(now)
	if err := (placement.Member{Owner: c.o.Self, Kinds: kinds}).Validate(); err != nil {
		return c.out, fmt.Errorf("placement: the kinds are invalid: %w", err)
	}
	return c.startAs(placement.StateMember, kinds)
}

// StartClient starts the coordinator as that of a client, which activates nothing. It
// is ready once there is a topology. The errors are those of [Coordinator.StartMember].
func (c *Coordinator) StartClient(now time.Time) (Outcome, error) {
	c.beginCall(now)
	return c.startAs(placement.StateClient, nil)
}

func (c *Coordinator) startAs(role placement.State, kinds []string) (Outcome, error) {
	switch {
	case c.dead != "":
		return c.out, placement.ErrDead
	case c.state != placement.StateStopped:
		return c.out, placement.ErrStarted
	case c.Held() > 0:
		return c.out, fmt.Errorf("%w: it still gives back %d activations and leases", placement.ErrStarted, c.Held())
	}
	c.state, c.role, c.kinds, c.joined = placement.StateNotReady, role, slices.Clone(kinds), false
	c.applyView()
	return c.out, nil
}

// applyView acts on what the view says about this member.
func (c *Coordinator) applyView() {
	switch {
	case c.view == nil || c.state == placement.StateStopped:
	case c.role == placement.StateClient:
		c.setState(placement.StateClient)
	default:
		c.applyMemberView()
	}
}

func (c *Coordinator) applyMemberView() {
	i, listed := c.view.index[c.o.Self.Name]
	switch {
	case listed && c.view.members[i].Owner == c.o.Self:
		c.joined = true
		c.setState(placement.StateMember)
	case listed && c.view.members[i].Incarnation > c.o.Self.Incarnation:
		c.loseAll(fmt.Sprintf("topology %d lists %s", c.view.version, c.view.members[i].Owner))
	case c.joined:
		c.loseAll(fmt.Sprintf("topology %d does not list %s any more", c.view.version, c.o.Self))
	}
}

func (c *Coordinator) setState(s placement.State) {
	if c.state != s {
		c.state = s
		c.emit(placement.Event{Kind: placement.Started, Owner: c.o.Self, Reason: s.String()})
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
func (c *Coordinator) emit(e placement.Event) {
	e.ObservedAt = c.now
	if e.Topology == 0 && c.view != nil {
		e.Topology = c.view.version
	}
	c.out.Events = append(c.out.Events, e)
}

func (c *Coordinator) addCommand(cmd Command) { c.out.Commands = append(c.out.Commands, cmd) }

// nextID returns a request id that was not used before.
func (c *Coordinator) nextID() placement.RequestID {
	c.last++
	return c.last
}

// UpdateTopology puts a topology in force. It does not touch activations: a key
// that has a new authority moves when it is resolved next, or in ticks. A topology
// of the version in force changes nothing. The errors are those of
// [placement.Topology.Validate], a [placement.ErrStaleTopology] and, for good, [placement.ErrDead].
//
// A topology also has the last word on this member. Until one lists it, the
// coordinator is not ready. A topology in which it is missing after that, or in which its name
// has a greater incarnation, says that others take it for dead: the coordinator loses all it has, as by
// [Coordinator.LoseAll].
func (c *Coordinator) UpdateTopology(t placement.Topology, now time.Time) (Outcome, error) {
	c.beginCall(now)
	if err := t.Validate(); err != nil {
		c.emit(placement.Event{Kind: placement.TopologyRefused, Topology: t.Version, Reason: err.Error()})
		return c.out, err
	}
	switch {
	case c.dead != "":
		return c.out, placement.ErrDead
	case c.view != nil && t.Version == c.view.version:
		return c.out, nil
	case c.view != nil && t.Version < c.view.version:
		err := fmt.Errorf("placement: topology %d: %w, %d", t.Version, placement.ErrStaleTopology, c.view.version)
		c.emit(placement.Event{Kind: placement.TopologyRefused, Topology: t.Version, Reason: err.Error()})
		return c.out, err
	}
	c.enforceView(newView(t, c.o.Self))
	return c.out, nil
}

// OnMemberLeft takes a member out of the topology in force, before a newer one
// tells of it. A later incarnation of its name stays: the news of its predecessor's
// end may come after it. If the member is Self, all is lost, as by [Coordinator.LoseAll].
func (c *Coordinator) OnMemberLeft(o placement.Owner, now time.Time) Outcome {
	c.beginCall(now)
	if c.dead != "" || c.view == nil || !c.view.isAlive(o) {
		return c.out
	}
	left := func(m placement.Member) bool { return m.Owner == o }
	c.enforceView(newView(placement.Topology{Version: c.view.version, Members: slices.DeleteFunc(slices.Clone(c.view.members), left)}, c.o.Self))
	return c.out
}

// enforceView puts a view in force and finds out what it says of this member.
func (c *Coordinator) enforceView(v *view) {
	c.view = v
	c.generation++
	c.active.StartScan()
	c.emit(placement.Event{Kind: placement.TopologyChanged, Reason: fmt.Sprintf("%d members", len(v.members))})
	c.applyView()
}

// Snapshot returns a copy of the coordinator's state. It takes time in proportion to the
// activations; [Coordinator.Held] returns the count alone.
func (c *Coordinator) Snapshot() placement.Snapshot {
	s := placement.Snapshot{
		Self: c.o.Self, State: c.state, Dead: c.dead, Locations: c.places.Len(), Held: c.Held(),
		Activations: make([]placement.ActiveKey, 0, c.active.Len()), Requests: make([]placement.PendingRequest, 0, c.works.Len()),
	}
	if c.view != nil {
		s.Topology, s.Members = c.view.version, len(c.view.members)
	}
	for n := c.active.Oldest(); n != nil; n = n.Next() {
		s.Activations = append(s.Activations, c.activeKey(n.Key, n.Value))
	}
	slices.SortFunc(s.Activations, func(a, b placement.ActiveKey) int {
		return cmp.Or(cmp.Compare(a.Key.Kind, b.Key.Kind), cmp.Compare(a.Key.ID, b.Key.ID))
	})
	for n := c.works.Oldest(); n != nil; n = n.Next() {
		s.Requests = append(s.Requests, c.pendingRequest(n.Value))
	}
	return s
}

func (c *Coordinator) activeKey(key placement.Key, a activation) placement.ActiveKey {
	return placement.ActiveKey{Key: key, Epoch: a.epoch, PID: a.pid, Topology: a.topology, Idle: c.clock - a.used}
}

func (c *Coordinator) pendingRequest(w *work) placement.PendingRequest {
	p := placement.PendingRequest{
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
func (c *Coordinator) Explain(key placement.Key, now time.Time) placement.Explanation {
	c.beginCall(now)
	e := placement.Explanation{Key: key, Self: c.o.Self, State: c.state, Strategy: c.name}
	if e.Err = key.Validate(); e.Err != nil {
		return e
	}
	c.explainHere(&e)
	if c.view == nil {
		e.Err = placement.ErrNotReady
		return e
	}
	e.Topology = c.view.version
	e.Decision, e.Err = c.decideAuthority(key)
	e.Candidates = c.candidates(key, e.Decision.Authority)
	return e
}

// explainHere adds what this member has for the key.
func (c *Coordinator) explainHere(e *placement.Explanation) {
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

func (c *Coordinator) candidates(key placement.Key, authority placement.Owner) []placement.Candidate {
	all := c.view.kinds[key.Kind]
	found := make([]placement.Candidate, len(c.view.members))
	for i, m := range c.view.members {
		found[i] = placement.Candidate{Owner: m.Owner, Address: m.Address, Load: m.Load}
		at := slices.IndexFunc(all.Members, func(other placement.Member) bool { return other.Owner == m.Owner })
		found[i].Eligible, found[i].Reason = at >= 0, ineligible(m, key.Kind)
		if s, scores := c.o.Strategy.(placement.Scorer); scores && at >= 0 {
			found[i].Score = scoreOf(s, key, all, at)
		}
		if m.Owner == authority {
			found[i].Reason = "chosen"
		}
	}
	return found
}

// scoreOf returns a member's score, 0 if the strategy panics: the decision then tells why.
func scoreOf(s placement.Scorer, key placement.Key, all placement.Candidates, at int) (score uint64) {
	defer func() {
		if recover() != nil {
			score = 0
		}
	}()
	return s.Score(key, all, at)
}

// ineligible says why a member cannot get a key of a kind.
func ineligible(m placement.Member, kind string) string {
	switch {
	case !slices.Contains(m.Kinds, kind):
		return "it does not activate the kind"
	case m.Draining:
		return "it is draining"
	}
	return ""
}
