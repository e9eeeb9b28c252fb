// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot is what a [Coordinator] knows and does, for people and tests. It is a
// copy.
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
	// Retry is in how much time the step is tried again, because it has failed. 0: it is under way.
	Retry time.Duration
}

// Snapshot returns what the coordinator knows and does. It takes time in
// proportion to the activations: see [Coordinator.Held] for the count alone.
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
		s.Requests = append(s.Requests, c.pending(n.Value))
	}
	return s
}

func (c *Coordinator) activeKey(key Key, a activation) ActiveKey {
	return ActiveKey{Key: key, Epoch: a.epoch, PID: a.pid, Topology: a.topology, Idle: c.clock - a.used}
}

func (c *Coordinator) pending(w *work) PendingRequest {
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

// Explanation says why a key is where it is, as one coordinator sees it.
type Explanation struct {
	Key        Key
	Self       Owner
	State      State
	Topology   int64 // the version in force; 0: none is known
	Strategy   string
	Decision   Decision // by the topology in force, if Err is nil
	Err        error    // why there is no decision: a *KeyError, ErrNotReady, or a *NoMemberError
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

// Explain says why a key is where it is. It changes nothing and gives no event.
func (c *Coordinator) Explain(key Key, now time.Time) Explanation {
	c.enter(now)
	e := Explanation{Key: key, Self: c.o.Self, State: c.state, Strategy: c.o.Strategy.Name()}
	if e.Err = key.Validate(); e.Err != nil {
		return e
	}
	c.explainHere(&e)
	if c.view == nil {
		e.Err = ErrNotReady
		return e
	}
	e.Topology = c.view.version
	e.Decision, e.Err = c.decide(key)
	e.Candidates = c.candidates(key, e.Decision.Authority)
	return e
}

// explainHere tells what this member has of the key.
func (c *Coordinator) explainHere(e *Explanation) {
	if n := c.active.Get(e.Key); n != nil {
		a := c.activeKey(n.Key, n.Value)
		e.Active = &a
	}
	if w := c.workOf(e.Key); w != nil {
		p := c.pending(w)
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
			found[i].Score = s.Score(key, all, at)
		}
		if m.Owner == authority {
			found[i].Reason = "chosen"
		}
	}
	return found
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
