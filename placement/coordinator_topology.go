// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"time"
)

// UpdateTopology puts a topology in force. It does not touch activations: a key
// whose authority has changed moves when it is resolved next, or in ticks. A topology
// of the version in force changes nothing. The errors are a *[TopologyError] with all
// faults, an [ErrStaleTopology] and, for good, [ErrDead].
//
// A topology has the last word on this member, too. Until one lists it, the
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
		err := &TopologyError{Version: t.Version, Err: fmt.Errorf("%w, %d", ErrStaleTopology, c.view.version)}
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
