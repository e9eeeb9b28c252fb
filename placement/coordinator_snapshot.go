// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"slices"
	"time"
)

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
